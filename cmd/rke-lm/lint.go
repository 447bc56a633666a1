// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/run"
)

// lintOptions are the flags of lint.
type lintOptions struct {
	*options
	work   run.Lint
	server bool
	toErr  bool // findings go there as text
}

func newLint(o *options) *cobra.Command {
	l := &lintOptions{options: o}
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
			return l.run(c.Context(), args)
		},
	}
	o.allFlags(c)
	o.outputFlag(c, everyFormat...)
	c.Flags().BoolVar(&l.work.Fix, "fix", false, "make the corrections that need no decision")
	o.rewriteFlags(c, &l.work.Files, &l.server)
	return c
}

func (l *lintOptions) run(ctx context.Context, paths []string) (err error) {
	if err := l.check(paths); err != nil {
		return err
	}
	if l.work.Options, err = l.Search.Run(ctx, paths); err != nil {
		return err
	}
	results, err := l.work.Run(ctx)
	all := l.collect("lint", paths...)
	all.ToErr = l.toErr
	for _, r := range results {
		all.Checked(r.Made.Checked)
	}
	if all.WriteOutcomes("clusters"); err != nil {
		return err
	}
	if l.Format == "text" {
		all.WriteStates(run.States(results, false))
	}
	return cmp.Or(all.Finish(), withCode(all.Code))
}

// check refuses choices that mean nothing together. Where standard output takes
// files or diffs, findings go to standard error.
func (l *lintOptions) check(paths []string) error {
	switch l.work.Forms = l.Format != "text"; {
	case l.server:
		return errors.New("--dry-run=server requires apply and a cluster of a Rancher; remove =server")
	case l.work.Fix && l.Live():
		return errors.New("--fix writes files; remove it for a cluster of a Rancher")
	case l.work.Fix && (l.work.Files.DryRun || l.work.Files.Print || slices.Contains(paths, "-")):
		l.toErr = true
		if l.Format != "text" {
			return errors.New("standard output is used for the file or the diff; remove -o " + l.Format)
		}
	case l.work.Files.DryRun || l.work.Files.Print:
		return errors.New("--dry-run and --stdout require --fix")
	}
	return nil
}
