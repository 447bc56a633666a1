// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newPlan(o *options) *cobra.Command {
	var text report.PlanText
	var exitCode bool
	var work run.Plan
	c := &cobra.Command{
		Use:   "plan PATH...",
		Short: "Show the stages of clusters, and the next edit",
		Long: `Show the stages of a cluster, what blocks one, and the next stage with its reason and its
diff; of several clusters a line each. The clusters are those of files, or with --cluster or
-l those of a Rancher.`,
		Example: `  rke-lm plan examples/docs-like.yaml
  rke-lm plan --all clusters/
  rke-lm plan --end-state external --out plans clusters/
  rke-lm plan --rancher-url https://rancher.example.com --cluster fleet-default/harbour
  kubectl get clusters.provisioning.cattle.io -n fleet-default harbour -o yaml | rke-lm plan -`,
		RunE: func(c *cobra.Command, args []string) error {
			o.Copies = true
			return o.plan(c.Context(), work, text, exitCode, args)
		},
	}
	o.allFlags(c)
	o.outputFlag(c, slices.Insert(slices.Clone(everyOutputFormat), 1, "wide")...)
	c.Flags().StringVar(&text.Stage, "stage", "", "show this stage only")
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 if edits or manual stages are left")
	c.Flags().StringVar(&work.Folders.Dir, "out", "", "write a folder for each cluster below this one; it has a runbook, the document after each stage, and the data for apply --plan, and can contain secrets")
	c.Flags().BoolVar(&work.Folders.Replace, "replace", false, "with --out: also replace a plan with other choices, or one whose stages are done")
	o.verboseFlag(c.Flags(), "with --out ")
	c.Flags().BoolVar(&text.Alone, "summary", false, "show a line for each cluster, also of one")
	c.Flags().BoolVar(&text.All, "all", false, "show every stage whole, of each cluster")
	c.MarkFlagsMutuallyExclusive("stage", "out")
	c.MarkFlagsMutuallyExclusive("summary", "all")
	c.MarkFlagsMutuallyExclusive("stage", "summary")
	oneOf(c, "stage", stages.Names())
	return c
}

func (o *options) plan(ctx context.Context, work run.Plan, text report.PlanText, exitCode bool, paths []string) (err error) {
	if text.Alone && o.OutputFormat != "text" {
		return fmt.Errorf("--summary is text; remove -o %s, which has the same in its fields", o.OutputFormat)
	}
	work.Folders.Server, err = o.Flags()
	if err := cmp.Or(err, work.Folders.Check(paths)); err != nil {
		return err
	}
	work.Options = o.Search.Run(ctx, paths)
	work.Stage, work.Classes = text.Stage, o.OutputFormat == "html"
	work.Brief = work.Folders.Dir == "" && o.OutputFormat == "text" && !text.All && text.Stage == ""
	results, err := work.Run(ctx)
	all := o.collect("plan", paths...)
	all.Folder = work.Folders.Dir
	plans := lists.Map(results, func(r run.Result[run.Planned]) report.Planned { return r.Made.Planned })
	for _, plan := range plans {
		all.End(plan.Ends)
	}
	if all.WriteOutcomes("plans"); err != nil {
		return err
	}
	all.WritePlans(plans, text)
	left := func(r run.Result[run.Planned]) bool { return r.Made.Left }
	if all.Code == transform.ExitDone && exitCode && slices.ContainsFunc(results, left) {
		all.Code = transform.ExitFound
	}
	return withCode(all.Code)
}
