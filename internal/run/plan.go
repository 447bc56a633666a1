// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/review"
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
		if p.Brief {
			made.Plans = append(made.Plans, report.NewFirstScreen(plan))
		} else {
			made.Plans = append(made.Plans, report.NewPlan(plan, p.Stage))
		}
		made.Plans[i].Status.Live = f.Live.Name()
	}
	first := &made.Plans[0]
	if step, _ := plans[0].Step(p.Stage); step.State == plan.NotInFile && t.Version == "" { // only a choice of this very stage edits the file
		alone, err := plan.BuildFor(f.Format, f.Docs, t, plan.Choice{Stage: p.Stage})
		if err != nil {
			return nil, err
		}
		status := first.Status
		*first = report.NewPlan(alone, p.Stage)
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
