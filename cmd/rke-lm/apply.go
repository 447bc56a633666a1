// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	flags  []string // that the next command repeats

	written []string // the last stage of each cluster that was changed
}

func newApply(o *options) *cobra.Command {
	a := &applyOptions{rewrite: rewrite{options: o}}
	c := &cobra.Command{
		Use:   "apply (--stage STAGE | --next | --undo STAGE) PATH...",
		Short: "Apply a stage to files or live clusters, or undo it",
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
  rke-lm apply --stage switch-to-external --through --dry-run clusters/
  rke-lm apply --plan plans --next clusters/
  rke-lm apply --plan plans --undo enable-leader-migration clusters/harbour.yaml
  rke-lm apply --stage switch-to-external --through --end-state external --dry-run clusters/
  rke-lm apply --next - < cluster.yaml > next.yaml
  rke-lm apply --next --dry-run=server --rancher-cli --cluster fleet-default/harbour`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.check(c); err != nil {
				return err
			}
			if !a.saved.given() {
				a.flags = a.repeatedChoices(c.Flags())
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
	c.Flags().BoolVar(&o.choices.CanonicalForm, "canonical", false, "with --undo: if the file does not show the previous form, use the usual form")
	a.rewriteFlags(c)
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
	case a.choices.CanonicalForm && a.undo == "":
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
	if err := a.saved.read(); err != nil {
		return err
	}
	a.files.Out = a.data()
	results, err := each(ctx, a.options, paths, a.cluster)
	if err != nil {
		return err
	}
	all := a.collect()
	all.flags, all.folder = a.flags, a.saved.dir
	var states []worked
	if a.live() && len(paths) == 0 {
		states = a.patchAll(ctx, results, all)
	} else {
		states = a.write(ctx, results, all)
	}
	all.writeOutcomes("clusters")
	if err := ctx.Err(); err != nil {
		return err
	}
	made := func(is func(*applied) bool) bool {
		return slices.ContainsFunc(results, func(r result[applied]) bool { return r.made != nil && is(r.made) })
	}
	if a.saved.given() && all.code == exitcode.Done && !made(func(m *applied) bool { return m.known }) {
		all.fail(&failure{code: exitcode.Refused, err: fmt.Errorf("%s: it has no plan for these clusters; plan them with --out, or use other files", a.saved.dir)})
	}
	if made(func(m *applied) bool { return m.open }) {
		all.code = max(all.code, exitcode.Found)
	}
	single := len(states) == 1 && len(a.written) == 1 && all.state(states[0])
	a.writeCheck(single && all.Rows[0].Next == "")
	if single && a.undo == "" && all.Rows[0].Next != "" {
		all.WriteNext(a.err, a.palette(a.err))
	}
	if err := all.writeStates(a.err, states); err != nil {
		return err
	}
	return withCode(all.code)
}

// writeCheck writes what comes before the next stage, or after the last one.
func (a *applyOptions) writeCheck(last bool) {
	slices.Sort(a.written)
	check := "rke-lm verify --stage STAGE --context CONTEXT"
	switch of := slices.Compact(slices.Clone(a.written)); {
	case len(of) == 0:
		return
	case of[0] == "" && len(of) == 1:
		check = "rke-lm verify --context CONTEXT" // the first stage is undone
	case len(of) == 1:
		check = shell.Line("rke-lm verify --stage %s --context CONTEXT", of[0])
	}
	before, how := "before the next stage", "commit, roll out"
	if a.live() {
		how = "wait for the rollout"
	}
	if last || a.undo != "" {
		before = "now"
	}
	fmt.Fprintf(a.err, "%s: %s, then %s\n", before, how, check)
}

// write shows what is done, and writes each file once all of its clusters are known. It returns the clusters
// as the run leaves them.
func (a *applyOptions) write(ctx context.Context, results []result[applied], all *collector) (states []worked) {
	errs, edits, failed := map[string][]error{}, map[string][]edit{}, map[string]bool{} // by file
	for _, r := range results {
		if ctx.Err() != nil {
			return nil
		}
		if r.made != nil {
			a.tell(r.made)
			if a.show(r.made.edit); len(r.made.changes) == 0 {
				all.outcome(r.made.line)
			}
			edits[r.File] = append(edits[r.File], r.made.edit)
		}
		if r.Err != nil {
			errs[r.File] = append(errs[r.File], r.Err)
		}
		if len(r.Ended) == 0 {
			continue
		}
		var of []error
		for _, in := range r.Ended {
			of = append(of, errs[in.Name]...)
			delete(errs, in.Name)
		}
		// A saved plan is for its own documents, whatever their neighbours are like,
		// in files that could be read.
		stays := r.Err != nil || len(of) > 0 && !a.saved.given()
		if err := a.rewrite.write(r.Ended, edits, stays, all); err != nil {
			of, stays = append(of, err), true
		}
		for _, in := range r.Ended {
			failed[in.Name] = stays
		}
		for _, err := range of {
			all.fail(err)
		}
	}
	for _, r := range results {
		states = append(states, a.left(r, r.Err, failed[r.File])...)
	}
	return states
}

// left is a cluster as the run leaves it: unchanged where that failed. One that is not in the saved plans is none.
func (a *applyOptions) left(r result[applied], err error, failed bool) []worked {
	switch {
	case r.made != nil && r.made.known && r.made.after != nil && !failed && !a.files.DryRun:
		if !a.files.Print && r.File != yamledit.Stdin {
			a.written = append(a.written, r.made.check)
		}
		return []worked{{r.Cluster, r.made.target, r.made.after, err}}
	case r.made != nil && r.made.known:
		return []worked{{r.Cluster, r.made.target, r.Docs, err}}
	case err != nil:
		return []worked{{err: err}}
	}
	return nil
}

// applied is what is to be done to a cluster, and what to tell of it.
type applied struct {
	edit          // of files; its line is set for all
	known    bool // the cluster is in the saved plans, if there are any
	target   transform.Target
	findings [][]transform.Finding
	cautions []string // about stages that are undone
	manual   []transform.Manual
	open     bool                 // manual stages, and no edit
	check    string               // the stage that verify checks: the last one, or the one before those that are undone
	after    []*yamledit.Document // nil where nothing is to be done
	first    []int                // of the stages, the first that changes each document
}

// tell prints what is to be known before a cluster changes.
func (a *applyOptions) tell(made *applied) {
	for _, found := range made.findings {
		outputs.WriteFindings(a.err, a.palette(a.err), found, "")
	}
	for _, caution := range made.cautions {
		fmt.Fprintln(a.err, a.palette(a.err).Wrap("caution: "+caution, ""))
	}
	for _, m := range made.manual {
		outputs.WriteManual(a.err, a.palette(a.err), m)
	}
}

// cluster decides what is to be done to a cluster.
func (a *applyOptions) cluster(f clusters.Cluster, t transform.Target) (*applied, error) {
	if f.Live != nil {
		return a.next(f, t)
	}
	if err := f.Refusal(t); err != nil {
		return nil, err
	}
	made, err := a.next(f, t)
	made.findings = slices.Insert(made.findings, 0, f.Objections(t))
	if made.after == nil {
		return made, err
	}
	made.edit = a.edited(made.line, f.Docs, made.after, func(i int) int { return made.first[i] })
	if len(made.changes) == 0 {
		made.line = line{}
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
func (a *applyOptions) fileSteps(f clusters.Cluster, t transform.Target) ([]fileStep, []transform.Manual, error) {
	if err := stages.CheckUndone(f.Docs[0].File(), a.undo); err != nil {
		return nil, nil, err
	}
	switch {
	case a.saved.given():
		return a.savedFileSteps(f)
	case a.undo != "":
		steps, err := transform.Undo(f.Distro, f.Docs, t, a.undo, a.choice.Through)
		return fileStepsOf(steps), nil, err
	}
	p, err := transform.BuildFor(f.Distro, f.Docs, t, a.choice)
	if err != nil {
		return nil, nil, err
	}
	steps, err := p.Choose(a.choice)
	fileSteps := fileStepsOf(steps)
	// What errors block is not written.
	if err == nil && !slices.ContainsFunc(fileSteps, func(s fileStep) bool { return s.blocked }) {
		if p.Target.Upgrades() {
			t = p.Target // a plan of the result would be that of the next minor
		}
		err = transform.StayDone(f.Distro, steps, t)
	}
	return fileSteps, p.Passed(steps, a.choice), err
}

func fileStepsOf(steps []transform.PlannedStage) (all []fileStep) {
	for _, s := range steps {
		all = append(all, fileStep{s.Stage.Name, s.State == transform.Blocked, s.Findings, s.Stage.Caution, s.After()})
	}
	return all
}

// next finds the stages that a cluster takes. It returns what to tell of the cluster in any case.
func (a *applyOptions) next(f clusters.Cluster, t transform.Target) (*applied, error) {
	made := &applied{known: true, target: t}
	if a.saved.given() {
		plan, known := a.picked(f)
		made.known, made.target = known, plan.Target
	}
	fileSteps, manual, err := a.fileSteps(f, t)
	name := f.Docs[0].File() + ": " + f.Distro.Identify(f.Docs[0]).Title() + ": "
	if f.Live != nil {
		name = f.Docs[0].File() + ": "
	}
	var first *transform.ManualStagePending
	switch {
	case errors.As(err, &first):
		made.manual = []transform.Manual{first.Manual}
		if first.Alone { // nothing is kept from the other clusters of the file
			made.open, made.line = true, line{name, first.At.What + "; " + first.At.Do}
			return made, nil
		}
		return made, err
	case errors.Is(err, errNotPlanned):
		made.line = line{name, err.Error()}
		return made, nil
	case err != nil:
		return made, err
	case len(fileSteps) == 0:
		made.line = line{name, "nothing to do"}
		return made, nil
	}
	var names []string
	for _, s := range fileSteps {
		made.findings = append(made.findings, s.findings)
		if a.undo != "" && s.caution != "" {
			made.cautions = append(made.cautions, s.caution)
		}
		if s.blocked {
			return made, &failure{code: exitcode.Found, err: fmt.Errorf("%sstage %s is blocked by the errors above; %s", name, s.stage, a.unblock(s.findings, f.Distro.Rules))}
		}
		names = append(names, s.stage)
	}
	made.manual, made.after, made.check = manual, fileSteps[len(fileSteps)-1].after, names[len(names)-1]
	if a.undo != "" {
		if c, err := f.Distro.Open(f.Docs, made.target); err == nil {
			made.check = stages.Previous(made.check, c.Chosen())
		}
	}
	for i, doc := range f.Docs {
		made.first = append(made.first, slices.IndexFunc(fileSteps, func(s fileStep) bool { return s.after[i] != doc }))
	}
	made.line = line{name, strings.Join(names, ", ") + a.direction()}
	return made, nil
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
