// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/planfolder"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
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
	saved  string // the folder of saved plans; "" for none

	written []written // what was changed
}

// written is a cluster that was changed: the command that checks it, without the cluster, and its name if it is live.
type written struct{ check, live string }

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
			return a.run(c.Context(), args)
		},
	}
	o.allFlags(c)
	c.Flags().StringVar(&a.choice.Stage, "stage", "", "the stage to apply")
	c.Flags().BoolVar(&a.choice.Next, "next", false, "apply the first stage that is not done")
	c.Flags().StringVar(&a.undo, "undo", "", "the stage to undo")
	c.Flags().BoolVar(&a.choice.Through, "through", false, "also apply the stages before --stage, or undo those after --undo")
	c.Flags().StringVar(&a.saved, "plan", "", "apply or undo the edits that plan --out saved in this folder")
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
		if err := run.CheckOneOf(flag, stage, stages.EditNames()...); err != nil {
			return err
		}
	}
	switch {
	case a.choice.Through && a.choice.Next:
		return errors.New("--through requires --stage, not --next")
	case a.choices.CanonicalForm && a.undo == "":
		return errors.New("--canonical requires --undo")
	case a.Live() && a.files.Print:
		return errors.New("--stdout prints files; use --dry-run for the diff of a cluster of a Rancher")
	case a.server && !a.Live():
		return errors.New("--dry-run=server requires a Rancher; add --cluster or -l, or remove =server")
	case a.saved != "":
		return a.checkNoChoice(c.Flags())
	}
	return nil
}

func (a *applyOptions) run(ctx context.Context, paths []string) error {
	a.files.Out = a.Data
	apply, results, err := a.decide(ctx, paths)
	if err != nil {
		return err
	}
	all := a.collect("apply")
	all.Folder = a.saved
	var states []run.Left
	if a.Live() && len(paths) == 0 {
		states = a.patchAll(ctx, apply, results, all)
	} else {
		states = a.write(ctx, results, all)
	}
	all.WriteOutcomes("clusters")
	if err := ctx.Err(); err != nil {
		return err
	}
	made := func(is func(*run.Applied) bool) bool {
		return slices.ContainsFunc(results, func(r run.Result[run.Applied]) bool { return r.Made != nil && is(r.Made) })
	}
	if a.saved != "" && all.Code == exitcode.Done && !made(func(m *run.Applied) bool { return m.Known }) {
		all.Fail(exitcode.New(exitcode.Refused, a.saved+": it has no plan for these clusters; plan them with --out, or use other files"))
	}
	if made(func(m *run.Applied) bool { return m.Open }) {
		all.Code = max(all.Code, exitcode.Found)
	}
	single := len(states) == 1 && len(a.written) == 1 && states[0].Add(all)
	a.writeCheck(all, single && all.Rows[0].Next == "")
	if single && a.undo == "" && all.Rows[0].Next != "" {
		all.WriteNext(a.Err, a.ErrPalette)
	}
	all.WriteStates(run.SumUp(all, states))
	return withCode(all.Code)
}

// decide decides what is to be done to the clusters.
func (a *applyOptions) decide(ctx context.Context, paths []string) (apply run.Apply, results []run.Result[run.Applied], err error) {
	apply = run.Apply{Choice: a.choice, Undo: a.undo, Diffs: a.files.DryRun}
	if a.saved != "" {
		if apply.Saved, err = planfolder.Read(a.saved); err != nil {
			return apply, nil, err
		}
	}
	if apply.Options, err = a.found(ctx, paths); err != nil {
		return apply, nil, err
	}
	results, err = apply.Run(ctx)
	return apply, results, err
}

// writeCheck writes what comes before the next stage, or after the last one.
func (a *applyOptions) writeCheck(all *report.Collector, last bool) {
	if len(a.written) == 0 {
		return
	}
	check, live := a.written[0].check, a.written[0].live
	for _, other := range a.written[1:] {
		if live = "CLUSTER"; !a.Live() {
			live = ""
		}
		if other.check != check {
			check = "rke-lm verify --stage STAGE"
		}
	}
	before, how := "before the next stage", "commit, roll out"
	if a.Live() {
		how = "wait for the rollout"
	}
	if last || a.undo != "" {
		before = "now"
	}
	fmt.Fprintf(a.Err, "%s: %s, and check it:\n  %s %s\n", before, how, check, shell.Words(all.Reach(live)...))
}

// write shows what is done, and writes each file once all of its clusters are known. It returns the clusters
// as the run leaves them.
func (a *applyOptions) write(ctx context.Context, results []run.Result[run.Applied], all *report.Collector) (states []run.Left) {
	errs, edits, failed := map[string][]error{}, map[string][]run.Edit{}, map[string]bool{} // by file
	for _, r := range results {
		if ctx.Err() != nil {
			return nil
		}
		if r.Made != nil {
			a.tell(r.Made)
			if a.show(r.Made.Edit); len(r.Made.Changes) == 0 {
				all.Became(r.Made.Outcome)
			}
			edits[r.File] = append(edits[r.File], r.Made.Edit)
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
		stays := r.Err != nil || len(of) > 0 && a.saved == ""
		if err := a.rewrite.write(r.Ended, edits, stays, all); err != nil {
			of, stays = append(of, err), true
		}
		for _, in := range r.Ended {
			failed[in.Name] = stays
		}
		for _, err := range of {
			all.Fail(err)
		}
	}
	for _, r := range results {
		states = append(states, a.left(r, r.Err, failed[r.File])...)
	}
	return states
}

// left is a cluster as the run leaves it: unchanged where that failed. One that is not in the saved plans is none.
func (a *applyOptions) left(r run.Result[run.Applied], err error, failed bool) []run.Left {
	switch {
	case r.Made != nil && r.Made.Known && r.Made.After != nil && !failed && !a.files.DryRun:
		if !a.files.Print && r.File != yamledit.Stdin {
			a.written = append(a.written, written{shell.Words(stages.VerifyCommand(r.Made.Check, r.Made.Planned)...), r.Live.Name()})
		}
		return []run.Left{{Cluster: r.Cluster, Target: r.Made.Target, After: r.Made.After, Err: err}}
	case r.Made != nil && r.Made.Known:
		return []run.Left{{Cluster: r.Cluster, Target: r.Made.Target, After: r.Docs, Err: err}}
	case err != nil:
		return []run.Left{{Err: err}}
	}
	return nil
}

// tell prints what is to be known before a cluster changes.
func (a *applyOptions) tell(made *run.Applied) {
	for _, found := range made.Findings {
		report.WriteFindings(a.Err, a.ErrPalette, found, "")
	}
	for _, caution := range made.Cautions {
		fmt.Fprintln(a.Err, a.ErrPalette.Wrap("caution: "+caution, ""))
	}
	for _, m := range made.Manual {
		report.WriteManual(a.Err, a.ErrPalette, m)
	}
}

// checkNoChoice refuses migration options on the command line: a saved plan holds
// the choices that it was made with.
func (a *applyOptions) checkNoChoice(flags *pflag.FlagSet) error {
	var err error
	var o options
	choice := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.targetFlags(choice)
	choice.VisitAll(func(f *pflag.Flag) {
		if flags.Changed(f.Name) && f.Name != manualDone && !a.configured[f.Name] {
			err = fmt.Errorf("--%s cannot be used with --plan, which has the choices of the saved plan; remove it, or plan again with --out", f.Name)
		}
	})
	return err
}

// patchAll applies to clusters of a Rancher, each by itself. Each has its line at once: nothing
// else shows which objects a run has changed until it was ended.
func (a *applyOptions) patchAll(ctx context.Context, apply run.Apply, results []run.Result[run.Applied], all *report.Collector) (states []run.Left) {
	for _, r := range results {
		if ctx.Err() != nil {
			return states
		}
		err := r.Err
		if made := r.Made; made != nil {
			a.tell(made)
			switch {
			case made.After != nil:
				err = a.patch(ctx, apply, r)
			case made.Outcome != (report.Outcome{}):
				fmt.Fprintln(a.Err, made.Outcome)
			}
		}
		all.Fail(err)
		states = append(states, a.left(r, err, err != nil)...)
	}
	return states
}

// patch applies to the cluster of a Rancher, and prints what became of it.
func (a *applyOptions) patch(ctx context.Context, apply run.Apply, r run.Result[run.Applied]) error {
	p, err := apply.Patch(ctx, r, a.files.DryRun, a.server)
	report.WriteFindings(a.Err, a.ErrPalette, p.Findings, "")
	if p.Diff != "" {
		report.WriteDiff(a.Out, a.Palette, p.Diff)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(a.Err, "%s: the server warns: %s\n", r.Docs[0].File(), w)
	}
	if err != nil {
		return err
	}
	done := "applied; Rancher now brings it to the machines, one at a time"
	switch {
	case a.server:
		done = "would be applied (server dry run)"
	case a.files.DryRun:
		done = "would be applied"
	}
	fmt.Fprintln(a.Err, r.Made.Outcome, done)
	return nil
}
