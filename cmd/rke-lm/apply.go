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
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/stages"
)

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
	complete(c, "stage", stages.EditNames())
	complete(c, "undo", stages.UndoNames())
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
