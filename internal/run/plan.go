// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"k8s.io/utils/ptr"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Plan plans clusters.
type Plan struct {
	Options
	Stage   string // the only one that is shown; "" for all
	Classes bool   // with the effective configuration
	Brief   bool   // of all stages without a diff, but for the next one
	Folders Folders
}

// Planned is the plan of a cluster, and those that follow it up to a later release.
type Planned struct {
	report.Planned
	Left    bool     // edits, or manual stages
	folders []Folder // of each plan
}

// Run plans every cluster, and writes the folders. It keeps none of the documents of stages, which take a megabyte.
func (p Plan) Run(ctx context.Context) ([]Result[Planned], error) {
	results, err := Each(ctx, p.Options, p.cluster)
	if err != nil {
		return nil, err
	}
	p.Folders.taken = map[string]string{}
	return ended(ctx, results, func(r *Result[Planned]) {
		p.Folders.write(r.Made)
		if r.Err != nil {
			r.Made.Errs = append(r.Made.Errs, r.Err)
		} else if r.Form.Line > 0 { // an error names it
			r.Made.Found = report.Findings(review.NotRead(r.Form, transform.Note, p.Target.Accept))
		}
	})
}

func (p Plan) cluster(f clusters.Cluster, t transform.Target) (*Planned, error) {
	if err := f.Refusal(t); err != nil {
		return nil, err
	}
	t, err := p.Finder.WithValues(f, t)
	if err != nil {
		return nil, err
	}
	plans, err := plan.Sequence(f.Format, f.Docs, t)
	if err != nil {
		return nil, err
	}
	_, unseen := plans[0].Findings()
	made := &Planned{Planned: report.Planned{Unseen: unseen}}
	if p.Classes {
		found, _ := f.Format.Classes(f.Docs, t) // none where explain has nothing to explain
		made.Classes = lists.Map(found, func(c transform.MachineClass) report.Class { return report.NewClass(c, "") })
	}
	for i, plan := range plans {
		made.Plans = append(made.Plans, report.NewPlan(plan, p.Stage, p.Brief))
		made.Plans[i].Status.Live = f.Live.Name()
	}
	first := &made.Plans[0]
	if step, _ := plans[0].Step(p.Stage); step.State == plan.NotInFile && t.Version == "" { // only a choice of this very stage edits the file
		alone, err := plan.BuildFor(f.Format, f.Docs, t, plan.Choice{Stage: p.Stage})
		if err != nil {
			return nil, err
		}
		status := first.Status
		*first = report.NewPlan(alone, p.Stage, false)
		first.Status = status
	}
	first.Findings = report.Findings(f.Objections(t))
	first.Status.Count(first.Findings)
	made.Left = first.Status.Summary.Counts.Count() != plan.CountDone || len(plans) > 1
	for i, plan := range plans {
		if p.Folders.Dir == "" {
			break
		}
		folder, err := p.Folders.folder(plan, made.Plans[i], f)
		if err != nil {
			return made, err
		}
		made.folders = append(made.folders, folder)
	}
	return made, nil
}

// Explain finds what machines get.
type Explain struct {
	Options
	Key  string // the only one; "" for all
	Diff string // the stage whose changes are found instead
}

// Run explains every cluster.
func (e Explain) Run(ctx context.Context) ([]report.Explained, error) {
	results, err := Each(ctx, e.Options, e.cluster)
	return lists.Map(results, func(r Result[report.Explained]) report.Explained {
		x := ptr.Deref(r.Made, report.Explained{})
		x.Err = r.Err
		return x
	}), err
}

func (e Explain) cluster(f clusters.Cluster, t transform.Target) (*report.Explained, error) {
	if e.Diff != "" {
		return e.compare(f, t)
	}
	config, err := e.effective(f.Format, f.Docs, t)
	if err != nil {
		return nil, err
	}
	x := &report.Explained{Config: config}
	if e.Key != "" && !slices.ContainsFunc(config.Classes, report.Class.Any) {
		if f.Format.Keys == nil { // those of arguments are not listed
			return x, nil
		}
		if err := CheckOneOf("key", e.Key, f.Format.Keys()...); err != nil {
			return nil, err
		}
		x.Note = fmt.Sprintf("%s: %s/%s: %s is not set for any class", config.Source.File, config.Namespace, config.Name, e.Key)
	}
	// Every verb says so of a cluster that is not to be migrated; what its machines get is shown all the same.
	if _, err := f.Format.Open(f.Docs, t); len(transform.NotMigratableIn(err)) > 0 {
		return x, err
	}
	return x, nil
}

func (e Explain) effective(d transform.Format, docs []*yamledit.Document, t transform.Target) (report.EffectiveConfig, error) {
	id := d.Identify(docs[0])
	config := report.EffectiveConfig{
		Name: id.Name, Namespace: id.Namespace, Format: d.Name,
		Source: report.SourceOf(docs[0]),
	}
	classes, err := d.Classes(docs, t)
	if err == nil && len(classes) == 0 {
		return config, transform.WithExitCode(transform.ExitRefused, docs[0].Root().Errorf("there is nothing to explain: every machine of an "+strings.ToUpper(d.Name)+" cluster gets the configuration in the file", "read the file, or see the diffs of plan"))
	}
	config.Classes = lists.Map(classes, func(c transform.MachineClass) report.Class { return report.NewClass(c, e.Key) })
	return config, err
}

// compare finds a stage's effect on every class.
func (e Explain) compare(f clusters.Cluster, t transform.Target) (*report.Explained, error) {
	p, err := plan.BuildFor(f.Format, f.Docs, t, plan.Choice{Stage: e.Diff})
	if err != nil {
		return nil, err
	}
	step, err := p.Named(e.Diff)
	if err != nil {
		return nil, err
	}
	var of [2]report.EffectiveConfig // before the stage, and after it
	for i, docs := range [][]*yamledit.Document{step.Before(), step.After()} {
		if of[i], err = e.effective(f.Format, docs, t); err != nil {
			return nil, err
		}
	}
	x := &report.Explained{}
	for i, c := range of[0].Classes {
		name := fmt.Sprintf("%s/%s class %s", of[0].Namespace, of[0].Name, c.Name)
		if d := udiff.Unified(name+" before "+e.Diff, name+" after "+e.Diff, c.Lines(), of[1].Classes[i].Lines()); d != "" {
			x.Diffs = append(x.Diffs, d)
		}
	}
	if len(x.Diffs) == 0 {
		x.Note = fmt.Sprintf("%s: %s changes nothing that reaches a machine", f.Docs[0].File(), e.Diff)
	}
	return x, nil
}
