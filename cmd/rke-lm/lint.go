// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/run"
)

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
