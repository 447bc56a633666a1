// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newExplain(o *options) *cobra.Command {
	var work run.Explain
	c := &cobra.Command{
		Use:   "explain PATH...",
		Short: "Show what each machine class gets, and from which line",
		Example: `  rke-lm explain clusters/harbour.yaml
  rke-lm explain --key kube-controller-manager-arg clusters/harbour.yaml
  rke-lm explain --diff switch-to-external clusters/harbour.yaml
  rke-lm explain --context rancher --cluster c-m-8kqlhbsd`,
		RunE: func(c *cobra.Command, args []string) error { return o.explain(c.Context(), work, args) },
	}
	o.allFlags(c)
	o.outputFlag(c, "text", "json", "yaml")
	c.Flags().StringVar(&work.Key, "key", "", "show this key only")
	c.Flags().StringVar(&work.Diff, "diff", "", "show the changes of this stage")
	oneOf(c, "diff", stages.Names())
	return c
}

func (o *options) explain(ctx context.Context, work run.Explain, paths []string) error {
	if work.Diff != "" && o.OutputFormat != "text" {
		return errors.New("--diff is text; remove -o json, or compare two outputs of explain -o json")
	}
	work.Options = o.Search.Run(ctx, paths)
	results, err := work.Run(ctx)
	if err != nil {
		return err
	}
	all := o.collect("explain")
	all.WriteExplained(results)
	return withCode(all.Code)
}
