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
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// planOptions are the flags of plan.
type planOptions struct {
	*options
	stage    string
	exitCode bool
	alone    bool // the summary
	all      bool // every stage
	folders  run.Folders
	flags    []string // that the next command repeats
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
			p.copiesValues = true
			p.flags = p.repeatedChoices(c.Flags())
			return p.run(c.Context(), args)
		},
	}
	o.fileFlags(c.Flags())
	o.liveFlags(c)
	o.targetFlags(c.Flags())
	o.outputFlag(c, slices.Insert(slices.Clone(everyFormat), 1, "wide")...)
	c.Flags().StringVar(&p.stage, "stage", "", "show this stage only")
	c.Flags().BoolVar(&p.exitCode, "exit-code", false, "exit with 1 if edits or manual stages are left")
	c.Flags().StringVar(&p.folders.Dir, "out", "", "write a folder for each cluster below this one; it has a runbook, the document after each stage, and the data for apply --plan, and can contain secrets")
	c.Flags().BoolVar(&p.folders.Replace, "replace", false, "with --out: also replace a plan with other choices, or one whose stages are done")
	o.verboseFlag(c.Flags(), "with --out ")
	c.Flags().BoolVar(&p.alone, "summary", false, "show a line for each cluster, also of one")
	c.Flags().BoolVar(&p.all, "all", false, "show every stage whole, of each cluster")
	c.MarkFlagsMutuallyExclusive("stage", "out")
	c.MarkFlagsMutuallyExclusive("summary", "all")
	c.MarkFlagsMutuallyExclusive("stage", "summary")
	oneOf(c, "stage", stages.Names())
	return c
}

func (p *planOptions) check(paths []string) (err error) {
	if p.alone && p.Format != "text" {
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
	o, err := p.found(ctx, paths)
	if err != nil {
		return err
	}
	plan := run.Plan{Options: o, Stage: p.stage, Classes: p.Format == "html"}
	if p.folders.Dir != "" {
		plan.Folders = &p.folders
	}
	results, err := plan.Run(ctx)
	if err != nil {
		return err
	}
	all, left := p.collect(), false
	all.Flags, all.Folder = p.flags, p.folders.Dir
	var found []transform.Finding // about no cluster
	for _, r := range results {
		if r.Made != nil && ctx.Err() == nil {
			left = left || r.Made.Left
			p.sumUp(all, r)
		}
		all.Fail(r.Err)
		if r.Form.Line > 0 && r.Err == nil { // an error names it
			found = append(found, report.Findings(review.NotRead(r.Form, transform.Note, p.choices.Accept))...)
		}
	}
	all.WriteOutcomes("plans")
	if err := ctx.Err(); err != nil {
		return err
	}
	all.Fail(p.write(all, results, found))
	if all.Code == exitcode.Done && p.exitCode && left {
		all.Code = exitcode.Found
	}
	return withCode(all.Code)
}

// sumUp writes the folders of a cluster, and adds its row. The plan of one stage is no plan of what comes next.
func (p *planOptions) sumUp(all *report.Collector, r run.Result[run.Planned]) {
	first := all.Command == ""
	if p.Format == "text" && p.stage == "" {
		all.Row(r.Made.Plans[0].Status, r.Live.Name(), false)
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

// write writes the plans in the form of the output.
func (p *planOptions) write(all *report.Collector, results []run.Result[run.Planned], found []transform.Finding) error {
	switch {
	case p.Format == "text":
		return p.writeText(all, results, found)
	case p.Reports():
		list := newResults("plan")
		list.Findings, list.Errors = found, all.Errors
		for _, r := range results {
			if r.Made != nil {
				addPlans(list, r.Made)
			}
		}
		return p.WriteResults(list, report.PlanTable)
	}
	list := report.Plans{APIVersion: report.APIVersion, Kind: "Plan", Clusters: []report.Plan{}, Errors: all.Errors, Findings: found}
	for _, r := range results {
		if r.Made != nil {
			first := &r.Made.Plans[0]
			first.Findings = append(first.Findings, report.Findings(r.Made.Unseen)...)
			list.Clusters = append(list.Clusters, r.Made.Plans...)
		}
	}
	return p.Dump(list)
}

// addPlans adds the plans of a cluster to a report. The effective configuration is that of the documents as they are.
func addPlans(to *report.Results, m *run.Planned) {
	for i, plan := range m.Plans {
		subject := plan.Subject()
		if i == 0 {
			subject.Content.Classes = m.Classes
		}
		to.Keep(subject)
	}
}

// writeText writes plans for people: of several clusters the summary, and then all stages if they are asked for.
func (p *planOptions) writeText(all *report.Collector, results []run.Result[run.Planned], found []transform.Finding) error {
	colors := p.Palette
	report.WriteFindings(p.Err, p.ErrPalette, found, "")
	all.Refused = len(all.Errors)
	whole := p.all || p.stage != ""
	if len(all.Rows) > 0 && (p.alone || all.Several()) {
		all.Summary.Write(p.Out, colors)
		if p.alone || !whole {
			report.WriteFindings(p.Err, p.ErrPalette, objections(results), "")
			return nil
		}
		fmt.Fprintln(p.Out)
	}
	for _, r := range results {
		if r.Made == nil {
			continue
		}
		for _, plan := range r.Made.Plans {
			report.WritePlan(p.Out, colors, plan, whole)
		}
		report.WriteFindings(p.Out, colors, r.Made.Unseen, "")
	}
	if all.Several() {
		all.Summary.Write(p.Out, colors)
		return nil
	}
	for _, r := range results { // the only one
		if r.Made == nil || r.Docs[0].File() == yamledit.Stdin {
			continue
		}
		switch s := r.Made.Plans[0].Status; {
		case p.stage != "" && p.stage != s.Next:
		case r.Made.Plans[0].Decision() != "":
			all.Command = r.Made.Plans[0].Decision()
		case s.Outlook.Manual:
			all.Command = all.Apply(s, r.Live.Name(), "--"+manualDone+"="+s.Next)
		}
	}
	all.WriteNext(p.Out, colors)
	return nil
}

// objections are what was found about clusters as a whole.
func objections(results []run.Result[run.Planned]) (found []transform.Finding) {
	for _, r := range results {
		if r.Made != nil {
			found = append(found, r.Made.Plans[0].Findings...)
		}
	}
	return found
}

// dump writes a value for programs.
func (o *options) dump(v any) error {
	if o.Format == "yaml" {
		return report.WriteYAML(o.Data, v)
	}
	return report.WriteJSON(o.Out, v)
}
