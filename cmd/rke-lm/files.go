// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
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
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newPlan(o *options) *cobra.Command {
	var text report.PlanText
	var exitCode bool
	var work run.Plan
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
			o.Copies = true
			return o.plan(c.Context(), work, text, exitCode, args)
		},
	}
	o.allFlags(c)
	o.outputFlag(c, slices.Insert(slices.Clone(everyOutputFormat), 1, "wide")...)
	c.Flags().StringVar(&text.Stage, "stage", "", "show this stage only")
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 if edits or manual stages are left")
	c.Flags().StringVar(&work.Folders.Dir, "out", "", "write a folder for each cluster below this one; it has a runbook, the document after each stage, and the data for apply --plan, and can contain secrets")
	c.Flags().BoolVar(&work.Folders.Replace, "replace", false, "with --out: also replace a plan with other choices, or one whose stages are done")
	o.verboseFlag(c.Flags(), "with --out ")
	c.Flags().BoolVar(&text.Alone, "summary", false, "show a line for each cluster, also of one")
	c.Flags().BoolVar(&text.All, "all", false, "show every stage whole, of each cluster")
	c.MarkFlagsMutuallyExclusive("stage", "out")
	c.MarkFlagsMutuallyExclusive("summary", "all")
	c.MarkFlagsMutuallyExclusive("stage", "summary")
	oneOf(c.Flags(), "stage", stages.Names())
	return c
}

func (o *options) plan(ctx context.Context, work run.Plan, text report.PlanText, exitCode bool, paths []string) (err error) {
	if text.Alone && o.OutputFormat != "text" {
		return fmt.Errorf("--summary is text; remove -o %s, which has the same in its fields", o.OutputFormat)
	}
	work.Folders.Server, err = o.Flags()
	if err := cmp.Or(err, work.Folders.Check(paths)); err != nil {
		return err
	}
	work.Options = o.Search.Run(ctx, paths)
	work.Once = true
	work.Stage, work.Classes = text.Stage, o.OutputFormat == "html"
	work.Brief = work.Folders.Dir == "" && o.OutputFormat == "text" && !text.All && text.Stage == ""
	results, err := work.Run(ctx)
	all := o.collect("plan", paths...)
	all.Folder = work.Folders.Dir
	plans := lists.Map(results, func(r run.Result[run.Planned]) report.Planned { return r.Made.Planned })
	for _, plan := range plans {
		all.End(plan.Ends)
	}
	if all.WriteOutcomes("plans"); err != nil {
		return err
	}
	all.WritePlans(plans, text)
	left := func(r run.Result[run.Planned]) bool { return r.Made.Left }
	if all.Code == transform.ExitDone && exitCode && slices.ContainsFunc(results, left) {
		all.Code = transform.ExitFound
	}
	return withCode(all.Code)
}

func newExplain(o *options) *cobra.Command {
	var work run.Explain
	c := &cobra.Command{
		Use:   "explain PATH...",
		Short: "Show what each machine class gets, and from which line",
		Example: `  rke-lm explain clusters/harbour.yaml
  rke-lm explain --key kube-controller-manager-arg clusters/harbour.yaml
  rke-lm explain --diff switch-to-external clusters/harbour.yaml
  rke-lm explain --context rancher --cluster c-m-8kqlhbsd`,
		RunE: func(c *cobra.Command, args []string) error { return o.explain(c.Context(), work, args) },
	}
	o.allFlags(c)
	o.outputFlag(c, "text", "json", "yaml")
	c.Flags().StringVar(&work.Key, "key", "", "show this key only")
	c.Flags().StringVar(&work.Diff, "diff", "", "show the changes of this stage")
	oneOf(c.Flags(), "diff", stages.Names())
	return c
}

func (o *options) explain(ctx context.Context, work run.Explain, paths []string) error {
	if work.Diff != "" && o.OutputFormat != "text" {
		return errors.New("--diff is text; remove -o json, or compare two outputs of explain -o json")
	}
	work.Options = o.Search.Run(ctx, paths)
	work.Once = true
	results, err := work.Run(ctx)
	if err != nil {
		return err
	}
	all := o.collect("explain")
	all.WriteExplained(results)
	return withCode(all.Code)
}

func newReview(o *options) *cobra.Command {
	var work run.Review
	c := &cobra.Command{
		Use:   "review --base REF [PATH...]",
		Short: "Show what a change in git does to clusters",
		Long: `Compare the working tree, or the commit of --head, with the commit at which it parted from
REF, and show for each cluster the stages that the change performs, and the effective
configuration of each machine class before and after. An error makes the exit code 1.

.rke-lm.yaml is that of REF. Its acceptances count if the commit at which the change parted
has them as well: a change cannot accept its own errors. Nothing is checked out or written.`,
		Example: `  rke-lm review --base origin/main
  rke-lm review --base origin/main --head FETCH_HEAD clusters/`,
		Annotations: map[string]string{configFromBase: ""},
		RunE:        func(c *cobra.Command, args []string) error { return o.review(c, work, args) },
	}
	o.searchFlags(c.Flags())
	o.targetFlags(c.Flags())
	o.outputFlag(c, everyOutputFormat...)
	c.Flags().StringVar(&work.Base, "base", "", "compare with the commit at which the change parted from this branch, tag or commit")
	c.Flags().StringVar(&work.Head, "head", "", "commit with the change (default: the working tree)")
	return c
}

func (o *options) review(c *cobra.Command, work run.Review, paths []string) error {
	if work.Base == "" {
		return errors.New("--base is not set; set it to the branch into which the change is merged, such as origin/main")
	}
	work.Paths, work.Config, work.Kinds = paths, o.config, choiceKinds()
	work.Choose = func(file string, settings []review.Setting) (_ run.Options, excluding bool, err error) {
		if file != "" {
			err = o.apply(c.Flags(), file, settings)
		}
		err = cmp.Or(err, o.leaveOut(), o.CheckFormat(), o.Check())
		return o.Options, o.configured["exclude"], err
	}
	reviewed, err := work.Run(c.Context())
	all := o.collect("review")
	for _, err := range reviewed.Errs {
		all.Fail(err)
	}
	if err != nil {
		return err
	}
	all.WriteReview(reviewed.Result)
	return withCode(all.Code)
}

func newApply(o *options) *cobra.Command {
	var work run.Apply
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
			if err := o.checkApply(c, work); err != nil {
				return err
			}
			return o.applyStages(c.Context(), work, args)
		},
	}
	o.allFlags(c)
	c.Flags().StringVar(&work.Choice.Stage, "stage", "", "the stage to apply")
	c.Flags().BoolVar(&work.Choice.Next, "next", false, "apply the first stage that is not done")
	c.Flags().StringVar(&work.Undo, "undo", "", "the stage to undo")
	c.Flags().BoolVar(&work.Choice.Through, "through", false, "also apply the stages before --stage, or undo those after --undo")
	c.Flags().StringVar(&work.Folder, "plan", "", "apply or undo the edits that plan --out saved in this folder")
	c.Flags().BoolVar(&o.Target.CanonicalForm, "canonical", false, "with --undo: if the file does not show the previous form, use the usual form")
	o.rewriteFlags(c, &work.Files, &work.Server)
	c.Flags().SetAnnotation("dry-run", valuesOf, []string{onClient, onServer})
	c.Flags().SetAnnotation("stage", valuesOf, stages.EditNames())
	c.Flags().SetAnnotation("undo", valuesOf, stages.UndoNames())
	c.MarkFlagsMutuallyExclusive("stage", "next", "undo")
	c.MarkFlagsOneRequired("stage", "next", "undo")
	c.MarkFlagsMutuallyExclusive("plan", "canonical")
	return c
}

// checkApply refuses flags that do not go together.
func (o *options) checkApply(c *cobra.Command, work run.Apply) error {
	for flag, stage := range map[string]string{"stage": work.Choice.Stage, "undo": work.Undo} {
		if !c.Flags().Changed(flag) {
			continue
		}
		if slices.Contains(stages.Names(), stage) && !slices.Contains(stages.EditNames(), stage) {
			return errors.New("--" + flag + " " + stage + " edits no file; " + action.Command("rke-lm plan --stage %s shows its commands, and rke-lm verify --stage %s checks its result", stage, stage))
		}
		if err := run.CheckOneOf(flag, stage, stages.EditNames()...); err != nil {
			return err
		}
	}
	switch {
	case work.Choice.Through && work.Choice.Next:
		return errors.New("--through requires --stage, not --next")
	case o.Target.CanonicalForm && work.Undo == "":
		return errors.New("--canonical requires --undo")
	case o.Live() && work.Files.Print:
		return errors.New("--stdout prints files; use --dry-run for the diff of a cluster of a Rancher")
	case work.Server && !o.Live():
		return errors.New("--dry-run=server requires a Rancher; add --cluster or -l, or remove =server")
	case work.Folder != "":
		return o.checkNoChoice(c.Flags())
	}
	return nil
}

func (o *options) applyStages(ctx context.Context, work run.Apply, paths []string) (err error) {
	if work.Folder != "" {
		if work.Saved, err = planfolder.Read(work.Folder); err != nil {
			return err
		}
	}
	work.Options = o.Search.Run(ctx, paths)
	all := o.collect("apply", paths...)
	all.Folder, work.Show = work.Folder, all.Applied
	results, err := work.Run(ctx)
	if all.WriteOutcomes("clusters"); err != nil {
		return err
	}
	all.WriteAfter(work.States(results), work.Undo != "")
	return withCode(all.Code)
}

// checkNoChoice refuses migration options on the command line: a saved plan holds
// the choices that it was made with.
func (o *options) checkNoChoice(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if groupOf(f) == choiceGroup && f.Name != manualDone && !o.configured[f.Name] {
			err = fmt.Errorf("--%s cannot be used with --plan, which has the choices of the saved plan; remove it, or plan again with --out", f.Name)
		}
	})
	return err
}

func newLint(o *options) *cobra.Command {
	var work run.Lint
	var server bool
	c := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check the configuration of clusters, and correct it",
		Long: `Print what the static rules find in clusters as their files are, migratable or not.
An error makes the exit code 1, unless --accept names its rule.

--fix makes the corrections that need no decision, each proven, in place and
atomically, and prints the remaining findings. It changes nothing else, byte for byte.`,
		Example: `  rke-lm lint clusters/
  rke-lm lint --fix --dry-run clusters/harbour.yaml
  rke-lm lint -o json --end-state external clusters/harbour.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			if server {
				return errors.New("--dry-run=server requires apply and a cluster of a Rancher; remove =server")
			}
			return o.lint(c.Context(), work, args)
		},
	}
	o.allFlags(c)
	o.outputFlag(c, everyOutputFormat...)
	c.Flags().BoolVar(&work.Fix, "fix", false, "make the corrections that need no decision")
	o.rewriteFlags(c, &work.Files, &server)
	c.Flags().SetAnnotation("dry-run", valuesOf, []string{onClient})
	return c
}

func (o *options) lint(ctx context.Context, work run.Lint, paths []string) error {
	toErr, err := o.checkLint(work, paths)
	if err != nil {
		return err
	}
	work.Options = o.Search.Run(ctx, paths)
	work.Forms = o.OutputFormat != "text"
	results, err := work.Run(ctx)
	all := o.collect("lint", paths...)
	all.ToErr = toErr
	for _, r := range results {
		all.Checked(r.Made.Checked)
	}
	if all.WriteOutcomes("clusters"); err != nil {
		return err
	}
	if o.OutputFormat == "text" {
		all.WriteStates(run.States(results, false))
	}
	all.Finish()
	return withCode(all.Code)
}

// checkLint refuses choices that mean nothing together. Where standard output takes
// files or diffs, findings go to standard error.
func (o *options) checkLint(work run.Lint, paths []string) (toErr bool, err error) {
	used := work.Files.DryRun || work.Files.Print
	toErr = work.Fix && (used || slices.Contains(paths, "-"))
	switch {
	case work.Fix && o.Live():
		err = errors.New("--fix writes files; remove it for a cluster of a Rancher")
	case toErr && o.OutputFormat != "text":
		err = errors.New("standard output is used for the file or the diff; remove -o " + o.OutputFormat)
	case used && !work.Fix:
		err = errors.New("--dry-run and --stdout require --fix")
	}
	return toErr, err
}
