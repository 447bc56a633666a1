// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Apply decides what stages make of clusters, or what their undo does. It changes nothing.
type Apply struct {
	Options
	Choice transform.Choice
	Undo   string            // the stage to undo, in place of the choice
	Saved  []transform.Saved // the plans to follow; nil for those of the clusters as they are
	Diffs  bool              // of a dry run
}

// Run decides it for every cluster.
func (a Apply) Run(ctx context.Context) ([]Result[Applied], error) {
	return Each(ctx, a.Options, a.cluster)
}

// saved reports whether saved plans are followed.
func (a Apply) saved() bool { return a.Saved != nil }

// Applied is what is to be done to a cluster, and what to tell of it.
type Applied struct {
	Edit          // of files; its outcome is set for all
	Known    bool // the cluster is in the saved plans, if there are any
	Target   transform.Target
	Planned  transform.Target // the same, with what its plan took
	Findings [][]transform.Finding
	Cautions []string // about stages that are undone
	Manual   []transform.Manual
	Open     bool                 // manual stages, and no edit
	Check    string               // the stage that verify checks: the last one, or the one before those that are undone
	After    []*yamledit.Document // nil where nothing is to be done
	first    []int                // of the stages, the first that changes each document
}

// cluster decides what is to be done to a cluster.
func (a Apply) cluster(f clusters.Cluster, t transform.Target) (*Applied, error) {
	if f.Live != nil {
		return a.next(f, t)
	}
	if err := f.Refusal(t); err != nil {
		return nil, err
	}
	made, err := a.next(f, t)
	made.Findings = slices.Insert(made.Findings, 0, f.Objections(t))
	if made.After == nil {
		return made, err
	}
	made.Edit = edited(made.Outcome, a.Diffs, f.Docs, made.After, func(i int) int { return made.first[i] })
	if len(made.Changes) == 0 {
		made.Outcome = report.Outcome{}
	}
	return made, err
}

// fileStep is one stage that is applied to a document or undone.
type fileStep struct {
	stage    string
	blocked  bool
	findings []transform.Finding
	caution  string // about its undo
	after    []*yamledit.Document
}

// fileSteps returns what is to be done to a cluster, and the manual steps before and
// after it; nothing is left to do where it returns none.
func (a Apply) fileSteps(f clusters.Cluster, made *Applied) ([]fileStep, []transform.Manual, error) {
	if err := stages.CheckUndone(f.Docs[0].File(), a.Undo); err != nil {
		return nil, nil, err
	}
	t := made.Target
	switch {
	case a.saved():
		return a.savedFileSteps(f)
	case a.Undo != "":
		steps, err := transform.Undo(f.Distro, f.Docs, t, a.Undo, a.Choice.Through)
		return fileStepsOf(steps), nil, err
	}
	p, err := transform.BuildFor(f.Distro, f.Docs, t, a.Choice)
	if err != nil {
		return nil, nil, err
	}
	made.Planned = p.Target
	steps, err := p.Choose(a.Choice)
	fileSteps := fileStepsOf(steps)
	// What errors block is not written.
	if err == nil && !slices.ContainsFunc(fileSteps, func(s fileStep) bool { return s.blocked }) {
		if p.Target.Upgrades() {
			t = p.Target // a plan of the result would be that of the next minor
		}
		err = transform.StayDone(f.Distro, steps, t)
	}
	return fileSteps, p.Passed(steps, a.Choice), err
}

func fileStepsOf(steps []transform.PlannedStage) (all []fileStep) {
	for _, s := range steps {
		all = append(all, fileStep{s.Stage.Name, s.State == transform.Blocked, s.Findings, s.Stage.Caution, s.After()})
	}
	return all
}

// next finds the stages that a cluster takes. It returns what to tell of the cluster in any case.
func (a Apply) next(f clusters.Cluster, t transform.Target) (*Applied, error) {
	made := &Applied{Known: true, Target: t, Planned: t}
	if a.saved() {
		plan, known := a.picked(f)
		made.Known, made.Target, made.Planned = known, plan.Target, plan.Target
	}
	fileSteps, manual, err := a.fileSteps(f, made)
	name := f.Docs[0].File() + ": " + f.Distro.Identify(f.Docs[0]).Title() + ": "
	if f.Live != nil {
		name = f.Docs[0].File() + ": "
	}
	var first *transform.ManualStagePending
	switch {
	case errors.As(err, &first):
		made.Manual = []transform.Manual{first.Manual}
		if first.Alone { // nothing is kept from the other clusters of the file
			made.Open, made.Outcome = true, report.Outcome{Name: name, What: first.At.What + "; " + first.At.Do}
			return made, nil
		}
		return made, err
	case errors.Is(err, errNotPlanned):
		made.Outcome = report.Outcome{Name: name, What: err.Error()}
		return made, nil
	case err != nil:
		return made, err
	case len(fileSteps) == 0:
		made.Outcome = report.Outcome{Name: name, What: "nothing to do"}
		return made, nil
	}
	var names []string
	for _, s := range fileSteps {
		made.Findings = append(made.Findings, s.findings)
		if a.Undo != "" && s.caution != "" {
			made.Cautions = append(made.Cautions, s.caution)
		}
		if s.blocked {
			return made, exitcode.New(exitcode.Found, fmt.Sprintf("%sstage %s is blocked by the errors above; %s", name, s.stage, a.unblock(s.findings, f.Distro.Rules)))
		}
		names = append(names, s.stage)
	}
	made.Manual, made.After, made.Check = manual, fileSteps[len(fileSteps)-1].after, names[len(names)-1]
	if a.Undo != "" {
		if c, err := f.Distro.Open(f.Docs, made.Target); err == nil {
			made.Planned = c.Chosen()
			made.Check = stages.Previous(made.Check, made.Planned)
		}
	}
	for i, doc := range f.Docs {
		made.first = append(made.first, slices.IndexFunc(fileSteps, func(s fileStep) bool { return s.after[i] != doc }))
	}
	made.Outcome = report.Outcome{Name: name, What: strings.Join(names, ", ") + a.direction()}
	return made, nil
}

// direction is said of stages that are undone.
func (a Apply) direction() string {
	if a.Undo != "" {
		return " undone,"
	}
	return ""
}

// unblock reports what to do about a stage that errors guard.
func (a Apply) unblock(found []transform.Finding, rules []transform.Rule) string {
	advice := transform.Unblock(found, rules)
	if a.saved() {
		advice += "; then plan again with --out and --replace"
	}
	return advice
}

// Edit is what becomes of the documents of a cluster.
type Edit struct {
	report.Outcome // up to what becomes of the file
	Changes        []clusters.Change
	Diffs          []string // of a dry run
	Moved          int      // lines that are added
}

// edited compares documents with those that replace them; first is the stage that changes each first.
func edited(o report.Outcome, diffs bool, before, after []*yamledit.Document, first func(i int) int) Edit {
	e := Edit{Outcome: o}
	for i, doc := range before {
		if after[i] == doc {
			continue
		}
		if diffs {
			e.Diffs = append(e.Diffs, report.Diff(doc, after[i]))
		}
		e.Moved += bytes.Count(after[i].Bytes(), []byte("\n")) - bytes.Count(doc.Bytes(), []byte("\n"))
		e.Changes = append(e.Changes, clusters.Change{Before: doc.Chunk(), After: after[i].Chunk(), First: first(i)})
	}
	return e
}
