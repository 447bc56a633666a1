// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	*options
	key  string
	diff string
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
	c.Flags().StringVar(&e.key, "key", "", "show this key only")
	c.Flags().StringVar(&e.diff, "diff", "", "show the changes of this stage")
	oneOf(c, "diff", stages.Names())
	return c
}

func (e *explainOptions) run(ctx context.Context, paths []string) error {
	if e.diff != "" && e.Format != "text" {
		return errors.New("--diff is text; remove -o json, or compare two outputs of explain -o json")
	}
	o, err := e.Search.Run(ctx, paths)
	if err != nil {
		return err
	}
	results, err := run.Explain{Options: o, Key: e.key, Diff: e.diff}.Run(ctx)
	if err != nil {
		return err
	}
	all := e.collect("explain")
	list := report.EffectiveConfigs{APIVersion: report.APIVersion, Kind: "EffectiveConfig", Clusters: []report.EffectiveConfig{}}
	for _, r := range results {
		if r.Made != nil {
			list.Clusters = append(list.Clusters, r.Made.Config)
			if err := e.show(r.Made); err != nil {
				return err
			}
		}
		all.Fail(r.Err)
	}
	if list.Errors = all.Errors; e.Format != "text" {
		if err := e.Dump(list); err != nil {
			return err
		}
	}
	return withCode(all.Code)
}

// show prints what a cluster's machines get, or what a stage changes of it.
func (e *explainOptions) show(x *run.Explained) error {
	if x.Note != "" {
		fmt.Fprintln(e.Err, x.Note)
	}
	for _, d := range x.Diffs {
		report.WriteDiff(e.Out, e.Palette, d)
	}
	if e.diff != "" || e.Format != "text" {
		return nil
	}
	b := bufio.NewWriter(e.Out)
	report.WriteEffective(b, e.Palette, x.Config)
	return b.Flush()
}
