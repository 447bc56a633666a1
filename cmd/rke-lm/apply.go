// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/shell"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// applyOptions are the flags of apply.
type applyOptions struct {
	rewrite
	choice transform.Choice
	undo   string
	saved  savedPlans

	states *states
	open   atomic.Bool // manual stages of a cluster, and no edit
}

func newApply(o *options) *cobra.Command {
	a := &applyOptions{rewrite: rewrite{options: o}}
	c := &cobra.Command{
		Use:   "apply (--stage STAGE | --next | --undo STAGE) PATH...",
		Short: "Apply a stage to files or to clusters of a Rancher, or undo it",
		Long: `Write files as they are after a stage, or before it: in place and atomically, to
standard output with --stdout, or as a diff with --dry-run. A file is written as a
whole or not at all. Only the edits of the stage change, byte for byte.

With --plan the edits are those that plan --out saved, and each document must be
the one that was planned. Then --undo restores the same bytes. Without --plan it
removes what the stage writes, and refuses if the file does not show what was there
before.

--next and --through stop before an edit that comes after a manual stage, whose result
the file does not show: the chart of an RKE cluster before its switch, the kubelets
before the edit that removes the flag from a manifest. They print what to do and to
check; --manual-done confirms it. --next exits with 1 while only manual stages are left.

With --cluster or -l the objects of a Rancher are patched instead. The server rejects
the patch if another user changed the object in the meantime; --dry-run=server
validates it without storing it. Clusters are refused if another program manages
them, if they are paused, or if their last change is not applied.`,
		Example: `  rke-lm apply --next clusters/harbour.yaml
  rke-lm apply --stage switch-to-external --through --end-state external --dry-run clusters/
  rke-lm apply --plan plans --next clusters/
  rke-lm apply --plan plans --undo enable-leader-migration clusters/harbour.yaml
  rke-lm apply --next - < cluster.yaml > next.yaml
  rke-lm apply --next --dry-run=server --rancher-cli --cluster fleet-default/harbour`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.check(c); err != nil {
				return err
			}
			a.states = a.newStates(a.err, a.repeated(c.Flags()))
			if a.live() && len(args) == 0 {
				return a.runLive(c.Context())
			}
			return a.run(c.Context(), args)
		},
	}
	o.fileFlags(c.Flags())
	o.liveFlags(c)
	o.targetFlags(c.Flags())
	c.Flags().StringVar(&a.choice.Stage, "stage", "", "the stage to apply")
	c.Flags().BoolVar(&a.choice.Next, "next", false, "apply the first stage that is not done")
	c.Flags().StringVar(&a.undo, "undo", "", "the stage to undo")
	c.Flags().BoolVar(&a.choice.Through, "through", false, "also apply the stages before --stage, or undo those after --undo")
	c.Flags().StringVar(&a.saved.dir, "plan", "", "apply or undo the edits that plan --out saved in this folder")
	c.Flags().BoolVar(&o.choices.Canonical, "canonical", false, "with --undo: if the file does not show the previous form, use the usual form")
	a.flags(c)
	complete(c, "stage", stages.EditNames())
	complete(c, "undo", stages.UndoNames())
	c.MarkFlagsMutuallyExclusive("stage", "next", "undo")
	c.MarkFlagsOneRequired("stage", "next", "undo")
	c.MarkFlagsMutuallyExclusive("plan", "canonical")
	return c
}

// check refuses flags that do not go together.
func (a *applyOptions) check(c *cobra.Command) error {
	for flag, stage := range map[string]string{"stage": a.choice.Stage, "undo": a.undo} {
		if !c.Flags().Changed(flag) {
			continue
		}
		if slices.Contains(stages.Names(), stage) && !slices.Contains(stages.EditNames(), stage) {
			return errors.New("--" + flag + " " + stage + " edits no file; " + shell.Line("rke-lm plan --stage %s shows its commands, and rke-lm verify --stage %s checks its result", stage, stage))
		}
		if err := checkOneOf(flag, stage, stages.EditNames()...); err != nil {
			return err
		}
	}
	switch {
	case a.choice.Through && a.choice.Next:
		return errors.New("--through requires --stage, not --next")
	case a.choices.Canonical && a.undo == "":
		return errors.New("--canonical requires --undo")
	case a.live() && a.files.Print:
		return errors.New("--stdout prints files; use --dry-run for the diff of a cluster of a Rancher")
	case a.server && !a.live():
		return errors.New("--dry-run=server requires a Rancher; add --cluster or -l, or remove =server")
	case a.saved.dir != "":
		return a.checkNoChoice(c.Flags())
	}
	return nil
}

func (a *applyOptions) run(ctx context.Context, paths []string) error {
	target, err := a.target()
	if err != nil {
		return err
	}
	if err := a.saved.read(); err != nil {
		return err
	}
	a.begin()
	code := a.each(ctx, paths, target)
	a.made.finish()
	if err := ctx.Err(); err != nil {
		return err
	}
	if code == exitcode.Done {
		code = a.complain(a.saved.unused())
	}
	return a.finish(code)
}

// finish writes the summary, and ends with the code of the run.
func (a *applyOptions) finish(code int) error {
	if a.open.Load() {
		code = max(code, exitcode.Found)
	}
	if err := a.states.finish(); err != nil {
		return err
	}
	return withCode(code)
}

// complain reports what went wrong, and returns the code of the worst; nil is nothing.
func (a *applyOptions) complain(errs ...error) (code int) {
	for _, err := range errs {
		if err != nil {
			complain(a.err, err)
			code = max(code, exitcode.Of(err))
		}
	}
	return code
}

// each works on one file after the other, and returns the code of the worst error.
func (a *applyOptions) each(ctx context.Context, paths []string, target transform.Target) (code int) {
	of := map[string][]error{} // by file
	for r := range a.clusters(ctx, paths, func(f clusters.Cluster) (func() error, error) { return a.cluster(f, f.For(target)) }) {
		if err := r.Use(); err != nil {
			of[r.File()] = append(of[r.File()], err)
			a.states.errors++
		}
		if len(r.Ended) == 0 {
			continue
		}
		var errs []error
		for _, in := range r.Ended {
			errs = append(errs, of[in.Name]...)
			delete(of, in.Name)
		}
		// A saved plan is for its own documents, whatever their neighbours are like,
		// in files that could be read.
		failed := r.Err() != nil || len(errs) > 0 && !a.saved.given()
		if err := a.write(r.Ended, failed); err != nil {
			errs, failed = append(errs, err), true
		}
		a.states.know(r.Ended, failed)
		code = max(code, a.complain(errs...))
	}
	return code
}

// cluster works on a cluster, and returns what shows its findings and keeps the
// part of the file that changes.
func (a *applyOptions) cluster(f clusters.Cluster, t transform.Target) (func() error, error) {
	if err := f.Refusal(t); err != nil {
		return nil, err
	}
	var said, diff bytes.Buffer
	outputs.WriteFindings(&said, a.palette(a.err), f.Objections(t), "")
	changes, note, err := a.changed(f, t, &said, &diff)
	made, known := a.worked(f, t, changes, err)
	file := f.Docs[0].File()
	return func() error {
		if known {
			a.states.take(made)
		}
		a.err.Write(said.Bytes())
		a.out.Write(diff.Bytes())
		if len(changes) == 0 {
			a.made.cluster(note)
			return nil
		}
		a.note(file, note)
		for _, c := range changes {
			a.files.Change(c.before.Chunk(), c.after.Chunk(), c.first)
		}
		return nil
	}, err
}

// fileStep is one stage that is applied to a document or undone.
type fileStep struct {
	stage    string
	blocked  bool
	findings []transform.Finding
	after    []*yamledit.Document
}

// fileSteps returns what is to be done to a cluster, and the manual steps before and
// after it; nothing is left to do where it returns none.
func (a *applyOptions) fileSteps(f clusters.Cluster, t transform.Target) ([]fileStep, []transform.Manual, error) {
	if err := stages.CheckUndone(f.Docs[0].File(), a.undo); err != nil {
		return nil, nil, err
	}
	switch {
	case a.saved.given():
		return a.savedFileSteps(f)
	case a.undo != "":
		fileSteps, err := undoFileSteps(f, t, a.undo, a.choice.Through)
		return fileSteps, nil, err
	}
	p, err := transform.BuildFor(f.Distro, f.Docs, t, a.choice)
	if err != nil {
		return nil, nil, err
	}
	steps, err := p.Choose(a.choice)
	var fileSteps []fileStep
	for _, s := range steps {
		fileSteps = append(fileSteps, fileStep{s.Stage.Name, s.State == transform.Blocked, s.Findings, s.After()})
	}
	// What errors block is not written.
	if err == nil && !slices.ContainsFunc(fileSteps, func(s fileStep) bool { return s.blocked }) {
		if p.Target.Upgrades() {
			t = p.Target // a plan of the result would be that of the next minor
		}
		err = transform.Lasting(f.Distro, steps, t)
	}
	return fileSteps, p.Passed(steps, a.choice), err
}

// revision is a document that changes.
type revision struct {
	doc           int // of the cluster
	before, after *yamledit.Document
	first         int // of the stages, the first that changes it
}

// changed returns the documents that change, and what to say of the cluster.
func (a *applyOptions) changed(f clusters.Cluster, t transform.Target, said, diff io.Writer) ([]revision, line, error) {
	fileSteps, note, err := a.next(f, t, said)
	if len(fileSteps) == 0 || err != nil {
		return nil, note, err
	}
	var changes []revision
	for i, before := range f.Docs {
		after := fileSteps[len(fileSteps)-1].after[i]
		if after == before {
			continue
		}
		if a.files.DryRun {
			outputs.WriteDiff(diff, a.palette(a.out), outputs.Diff(before, after))
		}
		first := slices.IndexFunc(fileSteps, func(s fileStep) bool { return s.after[i] != before })
		changes = append(changes, revision{i, before, after, first})
	}
	if len(changes) == 0 {
		note = line{}
	}
	return changes, note, nil
}

// next returns the stages that a cluster takes, and what to say of it; none where nothing is
// to be done.
func (a *applyOptions) next(f clusters.Cluster, t transform.Target, said io.Writer) ([]fileStep, line, error) {
	fileSteps, manual, err := a.fileSteps(f, t)
	name := f.Docs[0].File() + ": " + f.Distro.Identify(f.Docs[0]).Title() + ": "
	if f.Live != nil {
		name = f.Docs[0].File() + ": "
	}
	var first *transform.ManualFirst
	switch {
	case errors.As(err, &first):
		outputs.WriteManual(said, a.palette(a.err), first.Manual)
		if first.Alone { // nothing is kept from the other clusters of the file
			a.open.Store(true)
			return nil, line{name, first.At.What + "; " + first.At.Do}, nil
		}
		return nil, line{}, err
	case errors.Is(err, errNotPlanned):
		return nil, line{name, err.Error()}, nil
	case err != nil:
		return nil, line{}, err
	case len(fileSteps) == 0:
		return nil, line{name, "nothing to do"}, nil
	}
	var stages []string
	for _, s := range fileSteps {
		outputs.WriteFindings(said, a.palette(a.err), s.findings, "")
		if s.blocked {
			return nil, line{}, &failure{code: exitcode.Found, err: fmt.Errorf("%sstage %s is blocked by the errors above; %s", name, s.stage, a.unblock(s.findings, f.Distro.Rules))}
		}
		stages = append(stages, s.stage)
	}
	for _, m := range manual {
		outputs.WriteManual(said, a.palette(a.err), m)
	}
	return fileSteps, line{name, strings.Join(stages, ", ") + a.direction()}, nil
}

// direction is said of stages that are undone.
func (a *applyOptions) direction() string {
	if a.undo != "" {
		return " undone,"
	}
	return ""
}

// unblock reports what to do about a stage that errors guard.
func (a *applyOptions) unblock(found []transform.Finding, rules []transform.Rule) string {
	advice := transform.Unblock(found, rules)
	if a.saved.given() {
		advice += "; then plan again with --out and --replace"
	}
	return advice
}
