// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// planOptions are the flags of plan.
type planOptions struct {
	*options
	stage    string
	exitCode bool
	alone    bool // the summary
	summary  *summary
	folders  planFolders
}

func newPlan(o *options) *cobra.Command {
	p := &planOptions{options: o}
	c := &cobra.Command{
		Use:   "plan PATH...",
		Short: "Show the stages of clusters: their state, the reason, and the diff of each edit",
		Long: `Show the stages of clusters: their state, the reason, and the diff of each edit. The
clusters are those of files, or with --cluster or -l those of a Rancher.`,
		Example: `  rke-lm plan examples/docs-like.yaml
  rke-lm plan --stage enable-leader-migration clusters/
  rke-lm plan --end-state external --out plans clusters/
  rke-lm plan --rancher-url https://rancher.example.com --cluster fleet-default/harbour
  kubectl get clusters.provisioning.cattle.io -n fleet-default harbour -o yaml | rke-lm plan -`,
		RunE: func(c *cobra.Command, args []string) error {
			p.copiesValues = true
			p.folders.made.out, p.folders.made.of = p.err, "plans"
			p.summary = &summary{out: p.out, palette: p.palette(p.out), flags: p.repeatedChoices(c.Flags()), folder: p.folders.dir}
			return p.run(c.Context(), args)
		},
	}
	o.fileFlags(c.Flags())
	o.liveFlags(c)
	o.targetFlags(c.Flags())
	o.outputFlag(c, planFormats...)
	c.Flags().StringVar(&p.stage, "stage", "", "show this stage only")
	c.Flags().BoolVar(&p.exitCode, "exit-code", false, "exit with 1 if edits or manual stages are left")
	c.Flags().StringVar(&p.folders.dir, "out", "", "write a folder for each cluster below this one: a runbook, the document after each stage, and the data for apply --plan (can contain secrets)")
	c.Flags().BoolVar(&p.folders.replace, "replace", false, "with --out: also replace a plan with other choices, or one whose stages are done")
	p.folders.made.flag(c.Flags(), "with --out ")
	c.Flags().BoolVar(&p.alone, "summary", false, "show one line for each cluster, totals, and the next command")
	c.MarkFlagsMutuallyExclusive("stage", "out")
	c.MarkFlagsMutuallyExclusive("stage", "summary")
	complete(c, "stage", stages.Names())
	return c
}

var planFormats = slices.Concat([]string{"text", "json", "yaml"}, reportFormats)

func (p *planOptions) check(paths []string) (err error) {
	if err := p.checkOutput(planFormats); err != nil {
		return err
	}
	if p.alone && p.output != "text" {
		return fmt.Errorf("--summary is text; remove -o %s, which has the same in its fields", p.output)
	}
	if p.stage != "" {
		if err := checkOneOf("stage", p.stage, stages.Names()...); err != nil {
			return err
		}
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
	made := &planRun{
		planOptions: p, results: newResults("plan"),
		list: outputs.Plans{APIVersion: outputs.APIVersion, Kind: "Plan", Clusters: []outputs.Plan{}, Errors: []outputs.Problem{}},
	}
	p.form = func(f forms.Found) {
		made.list.Findings = append(made.list.Findings, outputs.Findings(review.NotRead(f, transform.Note, p.choices.Accept))...)
	}
	code, err := p.eachCluster(ctx, paths, made.cluster, func(err error) { made.list.Errors = append(made.list.Errors, problem(err)) })
	p.folders.made.finish()
	if err != nil {
		return err
	}
	if err := made.finish(); err != nil {
		complain(p.err, err)
		code = max(code, exitcode.Of(err))
	}
	if code == exitcode.Done && p.exitCode && made.left {
		code = exitcode.Found
	}
	return withCode(code)
}

// planRun is what a run makes of its clusters, in the form of its output.
type planRun struct {
	*planOptions
	list    outputs.Plans
	results *outputs.Results
	left    bool // edits, or manual stages
}

// cluster plans a cluster, and returns what adds it to the output.
func (p *planRun) cluster(f clusters.Cluster, t transform.Target) (func() error, error) {
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
	first := plans[0]
	var outs []outputs.Plan
	for _, plan := range plans {
		outs = append(outs, outputs.NewPlan(plan, p.stage))
	}
	outs[0].Findings = outputs.Findings(f.Objections(t))
	left := first.Outlook().Counts.Count() != transform.CountDone || len(plans) > 1
	add, write := p.adds(plans, outs, p.classes(f, t), f), p.writes(plans, outs, f)
	return func() error {
		p.left = p.left || left
		first := p.summary.Command == ""
		if err := add(); err != nil {
			return err
		}
		err := write()
		if first && p.summary.Command != "" {
			p.summary.Runbook = p.folders.runbook
		}
		return err
	}, nil
}

// adds returns what adds the plans of a cluster to the output.
func (p *planRun) adds(plans []*transform.Plan, outs []outputs.Plan, classes []outputs.Class, f clusters.Cluster) func() error {
	switch {
	case p.forPrograms():
		all := slices.Clone(outs)
		all[0].Findings = append(slices.Clip(all[0].Findings), outputs.Findings(plans[0].Unseen)...)
		return func() error {
			p.list.Clusters = append(p.list.Clusters, all...)
			return nil
		}
	case p.reports():
		return func() error {
			p.report(plans, outs, classes)
			return nil
		}
	}
	return p.shows(outs, plans[0], f)
}

// writes returns what writes the folders of a cluster. Where none are asked for it keeps no plan.
func (p *planRun) writes(plans []*transform.Plan, outs []outputs.Plan, f clusters.Cluster) func() error {
	if p.folders.dir == "" {
		return func() error { return nil }
	}
	return func() error { return p.folders.writeAll(plans, outs, f) }
}

func (p *planRun) forPrograms() bool { return p.output == "json" || p.output == "yaml" }

// report adds the plans of a cluster to a report. What is not in its files, and the effective
// configuration, are those of the documents as they are.
func (p *planRun) report(plans []*transform.Plan, outs []outputs.Plan, classes []outputs.Class) {
	unseen := plans[0].Unseen
	for i, plan := range plans {
		subject := outs[i].Subject(plan.Outlook(), unseen)
		subject.Content.Classes = classes
		p.results.Keep(subject)
		unseen, classes = nil, nil
	}
}

// finish writes what comes after the last cluster.
func (p *planRun) finish() error {
	switch {
	case p.forPrograms():
		return p.dump(p.list)
	case p.reports():
		p.results.Findings, p.results.Errors = p.list.Findings, p.list.Errors
		return p.writeResults(p.results, outputs.PlanTable)
	}
	outputs.WriteFindings(p.err, p.palette(p.err), p.list.Findings, "")
	p.summary.Refused = len(p.list.Errors)
	return p.summary.finish(p.alone)
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

// shows returns what writes the plans of a cluster for people, and what was found about documents
// that were not given. The plan of one stage is no plan of what comes next. It keeps the text and
// none of the documents, which take a megabyte, until its turn comes.
func (p *planOptions) shows(plans []outputs.Plan, first *transform.Plan, f clusters.Cluster) func() error {
	var text bytes.Buffer
	if !p.alone {
		for _, plan := range plans {
			outputs.WritePlan(&text, p.palette(p.out), plan)
		}
		outputs.WriteFindings(&text, p.palette(p.out), first.Unseen, "")
	}
	one, outlook, at := plans[0], first.Outlook(), whereIs(f)
	return func() error {
		if p.stage == "" {
			p.summary.add(one, outlook, at)
		}
		_, err := p.summary.Write(text.Bytes())
		return err
	}
}

// dump writes a value for programs.
func (o *options) dump(v any) error {
	if o.output == "yaml" {
		return outputs.WriteYAML(o.data(), v)
	}
	return outputs.WriteJSON(o.out, v)
}

// eachCluster calls do for every cluster in the paths, on all cores, and what do
// returns in the order of the clusters. An error of one is printed and noted,
// and the others continue; the highest code wins.
func (o *options) eachCluster(ctx context.Context, paths []string, do func(clusters.Cluster, transform.Target) (show func() error, err error), note func(error)) (int, error) {
	target, err := o.target()
	if err != nil {
		return 0, err
	}
	code := exitcode.Done
	for r := range o.clusters(ctx, paths, func(f clusters.Cluster) (func() error, error) { return do(f, f.For(target)) }) {
		if err := r.Use(); err != nil {
			complain(o.err, err)
			note(err)
			code = max(code, exitcode.Of(err))
		}
		if r.Form.Line > 0 && o.form != nil {
			o.form(r.Form)
		}
	}
	return code, ctx.Err()
}
