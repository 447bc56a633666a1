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

// explainOptions are the flags of explain.
type explainOptions struct {
	*options
	work run.Explain
}

func newExplain(o *options) *cobra.Command {
	e := &explainOptions{options: o}
	c := &cobra.Command{
		Use:   "explain PATH...",
		Short: "Show what each machine class gets, and from which line",
		Example: `  rke-lm explain clusters/harbour.yaml
  rke-lm explain --key kube-controller-manager-arg clusters/harbour.yaml
  rke-lm explain --diff switch-to-external clusters/harbour.yaml
  rke-lm explain --context rancher --cluster c-m-8kqlhbsd`,
		RunE: func(c *cobra.Command, args []string) error { return e.run(c.Context(), args) },
	}
	o.allFlags(c)
	o.outputFlag(c, "text", "json", "yaml")
	c.Flags().StringVar(&e.work.Key, "key", "", "show this key only")
	c.Flags().StringVar(&e.work.Diff, "diff", "", "show the changes of this stage")
	oneOf(c, "diff", stages.Names())
	return c
}

func (e *explainOptions) run(ctx context.Context, paths []string) (err error) {
	if e.work.Diff != "" && e.Format != "text" {
		return errors.New("--diff is text; remove -o json, or compare two outputs of explain -o json")
	}
	if e.work.Options, err = e.Search.Run(ctx, paths); err != nil {
		return err
	}
	results, err := e.work.Run(ctx)
	if err != nil {
		return err
	}
	all := e.collect("explain")
	if err := all.WriteExplained(results); err != nil {
		return err
	}
	return withCode(all.Code)
}
