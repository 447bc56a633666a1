// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Apply applies stages to clusters, or undoes them.
type Apply struct {
	Options
	Choice plan.Choice
	Undo   string       // the stage to undo, in place of the choice
	Folder string       // of saved plans; "" for none
	Saved  []plan.Saved // the plans in it, which are followed
	Files  clusters.Rewriter
	Server bool // the server does the dry run
	// Show gets what became of a cluster at once: nothing else shows which objects a run has changed until it was ended.
	Show func(report.Applied)
}

// saved reports whether saved plans are followed.
func (a Apply) saved() bool { return a.Saved != nil }

// Applied is what a cluster takes, and what became of it.
type Applied struct {
	report.Applied
	Edit         // of files
	Known   bool // the cluster is in the saved plans, if there are any
	Target  transform.Target
	Planned transform.Target // the same, with what its plan took
	Changed bool
	Verify  string   // the stage that verify checks: the last one, or the one before those that are undone
	After   [][]byte // the documents after it; nil where nothing is to be done
	first   []int    // of the stages, the first that changes each document
}

// Run applies the stages to every cluster: to its object, or to its files once all clusters in them are known.
func (a Apply) Run(ctx context.Context) ([]Result[Applied], error) {
	results, err := Each(ctx, a.Options, a.cluster)
	if err != nil {
		return nil, err
	}
	files, known, failed := newRewriting(&a.Files), false, false
	results, err = ended(ctx, results, func(r *Result[Applied]) {
		made := r.Made
		made.Live = r.Live != nil
		switch {
		case r.Live != nil && made.After != nil:
			a.Show(report.Applied{Findings: made.Findings, Cautions: made.Cautions, Manual: made.Manual}) // before it changes
			made.Findings, made.Cautions, made.Manual = nil, nil, nil
			r.Err = a.toObject(ctx, *r)
		case len(made.Changes) == 0:
			made.Became = made.Outcome
		}
		files.edits[r.File] = append(files.edits[r.File], made.Edit)
		if r.Err != nil {
			files.errs[r.File] = append(files.errs[r.File], r.Err)
			// A saved plan is for its own documents, whatever their neighbours are like, in files that could be read.
			files.failed[r.File] = files.failed[r.File] || !a.saved() || len(r.Ended) > 0
		}
		made.Ends = files.end(r.Ended)
		known, failed = known || made.Known, failed || len(made.Ends.Errs) > 0
		a.Show(made.Applied)
	})
	if err != nil || known || failed || !a.saved() {
		for i := range results {
			if r := &results[i]; r.Made.Known { // or else it is not in the saved plans
				r.Target = r.Made.Target
				r.Left, r.Made.Changed = files.left(r.Result, r.Made.After)
			}
		}
		return results, err
	}
	return nil, transform.NewError(transform.ExitRefused, a.Folder+": it has no plan for these clusters; plan them with --out, or use other files")
}

// cluster decides what is to be done to a cluster.
func (a Apply) cluster(f clusters.Cluster, t transform.Target) (*Applied, error) {
	if err := f.Refusal(t); err != nil && f.Live == nil {
		return nil, err
	}
	made, after, err := a.next(f, t)
	if f.Live != nil {
		return made, err
	}
	made.Findings = slices.Insert(made.Findings, 0, f.Objections(t))
	if after == nil {
		return made, err
	}
	made.Edit, made.Diffs = edited(made.Outcome, a.Files.DryRun, f.Docs, after, func(i int) int { return made.first[i] })
	if len(made.Changes) == 0 {
		made.Outcome = report.Outcome{}
	}
	return made, err
}

// steps returns what is to be done to a cluster, by its saved plan or by one that is made, and the manual stages before
// and after it; nothing is left to do where it returns none.
func (a Apply) steps(f clusters.Cluster, saved plan.Saved, made *Applied) (steps, manual []plan.Step, err error) {
	if err := stages.CheckUndone(f.Docs[0].File(), a.Undo); err != nil || !made.Known {
		return nil, nil, err
	}
	var p *plan.Plan
	switch {
	case a.saved() && a.Undo != "":
		steps, err = saved.Undo(f.Docs, a.Undo, a.Choice.Through)
		return steps, nil, err
	case a.Undo != "":
		steps, err = plan.Undo(f.Format, f.Docs, made.Target, a.Undo, a.Choice.Through)
		return steps, nil, err
	case a.saved():
		p, err = saved.Open(f.Docs)
	default:
		p, err = plan.BuildFor(f.Format, f.Docs, made.Target, a.Choice)
	}
	if err == nil {
		made.Planned = p.Target
		steps, err = p.Choose(a.Choice)
	}
	switch {
	case err != nil:
	case a.saved():
		err = blockedSince(f, steps, p.Target)
	case !slices.ContainsFunc(steps, blocked): // what errors block is not written
		t := made.Target
		if p.Target.Upgrades() {
			t = p.Target // a plan of the result would be that of the next minor
		}
		err = plan.StayDone(f.Format, steps, t)
	}
	if err != nil {
		return nil, nil, err
	}
	return steps, p.Passed(steps, a.Choice), nil
}

func blocked(s plan.Step) bool { return s.State == plan.Blocked }

// next finds the stages that a cluster takes, and the documents after them. It returns what to tell of the cluster in any case.
func (a Apply) next(f clusters.Cluster, t transform.Target) (*Applied, []*yamledit.Document, error) {
	made := &Applied{Known: true, Target: t, Planned: t}
	var saved plan.Saved
	if a.saved() {
		saved, made.Known = plan.Pick(a.Saved, f.Format.Identify(f.Docs[0]), f.Docs, a.Undo != "")
		saved.Target.ManualDone = slices.Concat(saved.Target.ManualDone, a.Options.Target.ManualDone) // confirmed since
		made.Target, made.Planned = saved.Target, saved.Target
	}
	steps, manual, err := a.steps(f, saved, made)
	name := begin(f)
	var first *plan.ManualStagePending
	switch {
	case errors.As(err, &first):
		made.Manual = []plan.Step{first.Manual.Shown()}
		if first.Alone { // nothing is kept from the other clusters of the file
			made.Open, made.Outcome = true, report.Outcome{Name: name, What: first.At.What + "; " + first.At.Do}
			return made, nil, nil
		}
		return made, nil, err
	case err != nil:
		return made, nil, err
	case !made.Known:
		made.Outcome = report.Outcome{Name: name, What: "not in the plan"}
		return made, nil, nil
	case len(steps) == 0:
		made.Outcome = report.Outcome{Name: name, What: "nothing to do"}
		return made, nil, nil
	}
	var names []string
	for _, s := range steps {
		made.Findings = append(made.Findings, s.Findings)
		if a.Undo != "" && s.Stage.Caution != "" {
			made.Cautions = append(made.Cautions, s.Stage.Caution)
		}
		if blocked(s) {
			advice := transform.Unblock(s.Findings, f.Format.Rules)
			if a.saved() {
				advice += "; then plan again with --out and --replace"
			}
			return made, nil, transform.NewError(transform.ExitFound, fmt.Sprintf("%sstage %s is blocked by the errors above; %s", name, s.Stage.Name, advice))
		}
		names = append(names, s.Stage.Name)
	}
	after := steps[len(steps)-1].After()
	made.Manual, made.After, made.Verify = lists.Map(manual, plan.Step.Shown), texts(after), names[len(names)-1]
	made.Outcome = report.Outcome{Name: name, What: strings.Join(names, ", ")}
	if a.Undo != "" {
		made.What += " undone,"
		if c, err := f.Format.Open(f.Docs, made.Target); err == nil {
			made.Planned = c.Chosen()
			made.Verify = stages.Previous(made.Verify, made.Planned)
		}
	}
	for i := range f.Docs {
		made.first = append(made.first, slices.IndexFunc(steps, func(s plan.Step) bool { return s.Documents[i].Changes() }))
	}
	return made, after, nil
}

// begin is how a line about a cluster begins: with its file, and its name if the file has one.
func begin(f clusters.Cluster) string {
	file, of := f.Docs[0].File(), f.Format.Identify(f.Docs[0])
	if f.Live != nil || of.Name == "" {
		return file + ": "
	}
	return file + ": " + of.Title() + ": "
}

// blockedSince blocks steps for errors that earlier versions of rke-lm did not find as they planned them.
func blockedSince(f clusters.Cluster, steps []plan.Step, planned transform.Target) error {
	for i := range steps {
		s := &steps[i]
		c, err := f.Format.Open(s.Before(), f.For(planned))
		if err != nil {
			return err
		}
		if s.State == plan.Blocked {
			continue
		}
		chosen := c.Chosen()
		chosen.Before = c
		if c, err = f.Format.Open(s.After(), chosen); err != nil {
			return err
		}
		for _, found := range transform.Stopping(c.Findings(s.Stage.Name)) {
			if found.Rule == rules.NodeRename.ID || found.Rule == rules.LeaseTimingsUnsafe.ID {
				s.State, s.Findings = plan.Blocked, append(s.Findings, found)
			}
		}
	}
	return nil
}

// toObject brings the object of a live cluster to what was decided, if no precondition is missing.
func (a Apply) toObject(ctx context.Context, r Result[Applied]) error {
	made := r.Made
	err := transform.Guard(r.Place(), func() error {
		return a.patch(ctx, change{r.Cluster, revised(r.Docs, made.After)[0]}, r.Target, &made.Applied)
	})
	done := "applied; Rancher now brings it to the machines, one at a time"
	switch {
	case err != nil:
		return err
	case a.Server:
		done = "would be applied (server dry run)"
	case a.Files.DryRun:
		done = "would be applied"
	}
	made.Became = report.Outcome{Name: made.Name, What: made.What + " " + done}
	return nil
}

func (a Apply) patch(ctx context.Context, c change, t transform.Target, made *report.Applied) error {
	if err := c.Live.Review(ctx, t); err != nil {
		return err
	}
	findings, err := c.Preconditions(ctx, t)
	if err := cmp.Or(err, rollout.Refuse(c.Docs[0].File(), findings)); err != nil {
		return err
	}
	made.Accepted = findings
	if a.Files.DryRun {
		if _, err := c.patch(); err != nil {
			return err
		}
		made.Diffs = []string{report.Diff(c.Docs[0], c.after)}
		if !a.Server {
			return nil
		}
	}
	// Where the object is the same to Rancher, which wrote it in another form since it was read, the same change
	// is made again of what is there now.
	return rancher.Again(c,
		func(c change) error { return c.send(ctx, a.Server, made) },
		func() (change, error) { return a.now(ctx, c.Cluster, t) },
		func(before, now change) bool { return now.after != nil && c.Format.SameSpec(before.after, now.after) })
}

// change is an object, and the version of it that it is brought to.
type change struct {
	clusters.Cluster
	after *yamledit.Document // nil for none
}

// now reads the object again, and makes the same change of it.
func (a Apply) now(ctx context.Context, f clusters.Cluster, t transform.Target) (c change, err error) {
	again := *f.Live
	if again.Object, err = again.Server.Get(ctx, again.Object); err != nil {
		return c, err
	}
	f.Live = &again
	doc, err := transform.Parse(again.Object.Chunk())
	if err != nil {
		return c, err
	}
	f.Docs = transform.Only(doc)
	c = change{Cluster: f}
	_, after, err := a.next(f, t)
	if after != nil {
		c.after = after[0]
	}
	return c, err
}

func (c change) send(ctx context.Context, server bool, made *report.Applied) error {
	p, err := c.patch()
	if err != nil {
		return err
	}
	_, warnings, err := c.Live.Server.Patch(ctx, c.Live.Object, p, c.Format.Alike, server)
	made.Warnings = append(made.Warnings, lists.Map(warnings, func(w string) string { return c.Docs[0].File() + ": the server warns: " + w })...)
	return err
}

func (c change) patch() (jsonpatch.Patch, error) {
	p, err := jsonpatch.Diff(c.Docs[0].Bytes(), c.after.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Docs[0].File(), err)
	}
	return p, nil
}
