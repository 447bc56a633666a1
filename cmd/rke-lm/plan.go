// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
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
	folders  planFolders
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
	c.Flags().StringVar(&p.folders.dir, "out", "", "write a folder for each cluster below this one; it has a runbook, the document after each stage, and the data for apply --plan, and can contain secrets")
	c.Flags().BoolVar(&p.folders.replace, "replace", false, "with --out: also replace a plan with other choices, or one whose stages are done")
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
	if p.alone && p.output != "text" {
		return fmt.Errorf("--summary is text; remove -o %s, which has the same in its fields", p.output)
	}
	if p.folders.server, err = p.server(); err != nil {
		return err
	}
	return p.folders.check(paths)
}

func (p *planOptions) run(ctx context.Context, paths []string) error {
	if err := p.check(paths); err != nil {
		return err
	}
	results, err := each(ctx, p.options, paths, p.cluster)
	if err != nil {
		return err
	}
	all, left := p.collect(), false
	all.flags, all.folder = p.flags, p.folders.dir
	var found []transform.Finding // about no cluster
	for _, r := range results {
		if r.made != nil && ctx.Err() == nil {
			left = left || r.made.left
			p.sumUp(all, r)
		}
		all.fail(r.Err)
		if r.Form.Line > 0 && r.Err == nil { // an error names it
			found = append(found, outputs.Findings(review.NotRead(r.Form, transform.Note, p.choices.Accept))...)
		}
	}
	all.writeOutcomes("plans")
	if err := ctx.Err(); err != nil {
		return err
	}
	all.fail(p.write(all, results, found))
	if all.code == exitcode.Done && p.exitCode && left {
		all.code = exitcode.Found
	}
	return withCode(all.code)
}

// planResult is the plan of a cluster, and those that follow it up to a later release.
type planResult struct {
	plans   []outputs.Plan
	unseen  []transform.Finding // about documents that were not given
	classes []outputs.Class     // of a page
	folders []planFolder        // with --out
	left    bool                // edits, or manual stages
}

// cluster plans a cluster. It keeps none of the documents of stages, which take a megabyte.
func (p *planOptions) cluster(f clusters.Cluster, t transform.Target) (*planResult, error) {
	if err := f.Refusal(t); err != nil {
		return nil, err
	}
	t, err := p.withValues(f, t)
	if err != nil {
		return nil, err
	}
	plans, err := p.plans(f, t)
	if err != nil {
		return nil, err
	}
	made := &planResult{unseen: plans[0].Unseen, classes: p.classes(f, t)}
	for _, plan := range plans {
		made.plans = append(made.plans, outputs.NewPlan(plan, p.stage))
	}
	first := &made.plans[0]
	first.Findings = outputs.Findings(f.Objections(t))
	first.Status.Count(first.Findings)
	made.left = first.Status.Outlook.Counts.Count() != transform.CountDone || len(plans) > 1
	for i, plan := range plans {
		if p.folders.dir == "" {
			break
		}
		folder, err := p.folders.folder(plan, made.plans[i], f)
		if err != nil {
			return made, err
		}
		made.folders = append(made.folders, folder)
	}
	return made, nil
}

// sumUp writes the folders of a cluster, and adds its row. The plan of one stage is no plan of what comes next.
func (p *planOptions) sumUp(all *collector, r result[planResult]) {
	first := all.Command == ""
	if p.output == "text" && p.stage == "" {
		all.row(r.made.plans[0].Status, r.Live, false)
	}
	for i, folder := range r.made.folders {
		written, err := p.folders.write(folder)
		if err != nil {
			all.fail(err)
			return
		}
		all.outcome(line{written + ": plan ", "written"})
		if i == 0 && first && all.Command != "" {
			all.Runbook = folder.runbook
		}
	}
}

// write writes the plans in the form of the output.
func (p *planOptions) write(all *collector, results []result[planResult], found []transform.Finding) error {
	switch {
	case p.output == "text":
		return p.writeText(all, results, found)
	case p.reports():
		report := newResults("plan")
		report.Findings, report.Errors = found, all.errors
		for _, r := range results {
			if r.made != nil {
				r.made.report(report)
			}
		}
		return p.writeResults(report, outputs.PlanTable)
	}
	list := outputs.Plans{APIVersion: outputs.APIVersion, Kind: "Plan", Clusters: []outputs.Plan{}, Errors: all.errors, Findings: found}
	for _, r := range results {
		if r.made != nil {
			first := &r.made.plans[0]
			first.Findings = append(first.Findings, outputs.Findings(r.made.unseen)...)
			list.Clusters = append(list.Clusters, r.made.plans...)
		}
	}
	return p.dump(list)
}

// report adds the plans to a report. The effective configuration is that of the documents as they are.
func (m *planResult) report(to *outputs.Results) {
	for i, plan := range m.plans {
		subject := plan.Subject()
		if i == 0 {
			subject.Content.Classes = m.classes
		}
		to.Keep(subject)
	}
}

// writeText writes plans for people: of several clusters the summary, and then all stages if they are asked for.
func (p *planOptions) writeText(all *collector, results []result[planResult], found []transform.Finding) error {
	colors := p.palette(p.out)
	outputs.WriteFindings(p.err, p.palette(p.err), found, "")
	all.Refused = len(all.errors)
	whole := p.all || p.stage != ""
	if len(all.Rows) > 0 && (p.alone || all.several()) {
		all.Summary.Write(p.out, colors)
		if p.alone || !whole {
			outputs.WriteFindings(p.err, p.palette(p.err), objections(results), "")
			return nil
		}
		fmt.Fprintln(p.out)
	}
	for _, r := range results {
		if r.made == nil {
			continue
		}
		for _, plan := range r.made.plans {
			outputs.WritePlan(p.out, colors, plan, whole)
		}
		outputs.WriteFindings(p.out, colors, r.made.unseen, "")
	}
	if all.several() {
		all.Summary.Write(p.out, colors)
		return nil
	}
	for _, r := range results { // the only one
		if r.made == nil || r.Docs[0].File() == yamledit.Stdin {
			continue
		}
		if s := r.made.plans[0].Status; s.Outlook.Manual && (p.stage == "" || p.stage == s.Next) {
			all.Command = all.apply(s, r.Live, "--"+manualDone+"="+s.Next)
		}
	}
	all.WriteNext(p.out, colors)
	return nil
}

// objections are what was found about clusters as a whole.
func objections(results []result[planResult]) (found []transform.Finding) {
	for _, r := range results {
		if r.made != nil {
			found = append(found, r.made.plans[0].Findings...)
		}
	}
	return found
}

// plans returns the plan of a cluster, and those that follow it up to a later release.
func (p *planOptions) plans(f clusters.Cluster, t transform.Target) ([]*transform.Plan, error) {
	if t.Version != "" {
		return transform.Sequence(f.Distro, f.Docs, t)
	}
	plan, err := transform.BuildFor(f.Distro, f.Docs, t, p.needed())
	return []*transform.Plan{plan}, err
}

// classes is the effective configuration that a page shows; none where explain has nothing to
// explain.
func (p *planOptions) classes(f clusters.Cluster, t transform.Target) (list []outputs.Class) {
	if p.output != "html" {
		return nil
	}
	found, err := f.Distro.Explain(f.Docs, t)
	if err != nil {
		return nil
	}
	for _, c := range found {
		list = append(list, outputs.NewClass(c, ""))
	}
	return list
}

// needed is what has to be planned for what is shown; the exit code is about all.
func (p *planOptions) needed() transform.Choice {
	if p.exitCode {
		return transform.Choice{}
	}
	return transform.Choice{Stage: p.stage}
}

// dump writes a value for programs.
func (o *options) dump(v any) error {
	if o.output == "yaml" {
		return outputs.WriteYAML(o.data(), v)
	}
	return outputs.WriteJSON(o.out, v)
}
