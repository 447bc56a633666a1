// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// planOptions are the flags of plan.
type planOptions struct {
	*options
	text     report.PlanText
	exitCode bool
	folders  run.Folders
}

func newPlan(o *options) *cobra.Command {
	p := &planOptions{options: o}
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
			p.Copies = true
			return p.run(c.Context(), args)
		},
	}
	o.allFlags(c)
	o.outputFlag(c, slices.Insert(slices.Clone(everyFormat), 1, "wide")...)
	c.Flags().StringVar(&p.text.Stage, "stage", "", "show this stage only")
	c.Flags().BoolVar(&p.exitCode, "exit-code", false, "exit with 1 if edits or manual stages are left")
	c.Flags().StringVar(&p.folders.Dir, "out", "", "write a folder for each cluster below this one; it has a runbook, the document after each stage, and the data for apply --plan, and can contain secrets")
	c.Flags().BoolVar(&p.folders.Replace, "replace", false, "with --out: also replace a plan with other choices, or one whose stages are done")
	o.verboseFlag(c.Flags(), "with --out ")
	c.Flags().BoolVar(&p.text.Alone, "summary", false, "show a line for each cluster, also of one")
	c.Flags().BoolVar(&p.text.All, "all", false, "show every stage whole, of each cluster")
	c.MarkFlagsMutuallyExclusive("stage", "out")
	c.MarkFlagsMutuallyExclusive("summary", "all")
	c.MarkFlagsMutuallyExclusive("stage", "summary")
	oneOf(c, "stage", stages.Names())
	return c
}

func (p *planOptions) check(paths []string) (err error) {
	if p.text.Alone && p.Format != "text" {
		return fmt.Errorf("--summary is text; remove -o %s, which has the same in its fields", p.Format)
	}
	if p.folders.Server, err = p.Flags(); err != nil {
		return err
	}
	if p.folders.Dir == "" {
		return nil
	}
	return p.folders.Check(paths)
}

func (p *planOptions) run(ctx context.Context, paths []string) error {
	if err := p.check(paths); err != nil {
		return err
	}
	o, err := p.Search.Run(ctx, paths)
	if err != nil {
		return err
	}
	plan := run.Plan{Options: o, Stage: p.text.Stage, Classes: p.Format == "html"}
	if p.folders.Dir != "" {
		plan.Folders = &p.folders
	} else {
		plan.Brief = p.Format == "text" && !p.text.All && p.text.Stage == ""
	}
	results, err := plan.Run(ctx)
	if err != nil {
		return err
	}
	all, left := p.collect("plan"), false
	var plans []report.Planned
	all.Folder = p.folders.Dir
	var found []transform.Finding // about no cluster
	for _, r := range results {
		if r.Made != nil && ctx.Err() == nil {
			left, plans = left || r.Made.Left, append(plans, r.Made.Planned)
			p.sumUp(all, r)
		}
		all.Fail(r.Err)
		if r.Form.Line > 0 && r.Err == nil { // an error names it
			found = append(found, report.Findings(review.NotRead(r.Form, transform.Note, p.Target.Accept))...)
		}
	}
	all.WriteOutcomes("plans")
	if err := ctx.Err(); err != nil {
		return err
	}
	all.Fail(all.WritePlans(plans, found, p.text))
	if all.Code == exitcode.Done && p.exitCode && left {
		all.Code = exitcode.Found
	}
	return withCode(all.Code)
}

// sumUp writes the folders of a cluster, and adds its row. The plan of one stage is no plan of what comes next.
func (p *planOptions) sumUp(all *report.Collector, r run.Result[run.Planned]) {
	first := all.Command == ""
	if p.Format == "text" && p.text.Stage == "" {
		all.Row(report.State{Status: r.Made.Plans[0].Status, Live: r.Live.Name()})
	}
	for i, folder := range r.Made.Folders {
		written, err := p.folders.Write(folder)
		if err != nil {
			all.Fail(err)
			return
		}
		all.Became(report.Outcome{Name: written + ": plan ", What: "written"})
		if i == 0 && first && all.Command != "" {
			all.Runbook = folder.Runbook
		}
	}
}
