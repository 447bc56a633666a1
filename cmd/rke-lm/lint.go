// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// lintOptions are the flags of lint.
type lintOptions struct {
	rewrite
	work  run.Lint
	toErr bool // findings go there as text
}

func newLint(o *options) *cobra.Command {
	l := &lintOptions{rewrite: rewrite{options: o}}
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
	l.rewriteFlags(c)
	return c
}

func (l *lintOptions) run(ctx context.Context, paths []string) error {
	if err := l.check(paths); err != nil {
		return err
	}
	l.files.Out = l.Data
	var err error
	if l.work.Options, err = l.found(ctx, paths); err != nil {
		return err
	}
	l.work.DryRun = l.files.DryRun
	results, err := l.work.Run(ctx)
	if err != nil {
		return err
	}
	all := l.collect("lint")
	all.ToErr = l.toErr
	failed := l.write(ctx, results, all)
	all.WriteOutcomes("clusters")
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.Format == "text" {
		var states []run.Left
		for _, r := range results {
			switch {
			case r.Made != nil && !failed[r.File]:
				states = append(states, run.Left{Cluster: r.Cluster, Target: r.Target, After: r.Made.Docs, Err: r.Err})
			case r.Made != nil:
				states = append(states, run.Left{Cluster: r.Cluster, Target: r.Target, After: r.Docs, Err: r.Err})
			case r.Err != nil:
				states = append(states, run.Left{Err: r.Err})
			}
		}
		all.WriteStates(run.SumUp(all, states))
	}
	return cmp.Or(all.Finish(), withCode(all.Code))
}

// write shows what was found, and writes what fixes changed. It returns the files that are not written.
func (l *lintOptions) write(ctx context.Context, results []run.Result[run.Checked], all *report.Collector) map[string]bool {
	failed, edits := map[string]bool{}, map[string][]run.Edit{}
	moved := 0 // lines that fixes added to the file
	for _, r := range results {
		if ctx.Err() != nil {
			break
		}
		if r.Made != nil {
			doc := r.Docs[0]
			all.Show(r.Made.Title, doc.File(), doc.Root().Line(), r.Made.Findings, moved)
			l.show(r.Made.Edit)
			moved, edits[r.File] = moved+r.Made.Moved, append(edits[r.File], r.Made.Edit)
		}
		if r.Err != nil {
			failed[r.File] = l.refuse(all, r.Err, moved) || failed[r.File]
		}
		if form := r.Form; form.Line > 0 && (r.Err == nil || l.Format != "text") { // of text the error names it
			all.Show(form.File, form.File, form.Line, review.NotRead(form, transform.Warning, l.choices.Accept), moved)
		}
		if len(r.Ended) == 0 || !l.work.Fix {
			continue
		}
		moved = 0
		stays := slices.ContainsFunc(r.Ended, func(in source.Text) bool { return failed[in.Name] })
		if err := l.rewrite.write(r.Ended, edits, stays, all); err != nil {
			stays = true
			l.refuse(all, err, 0)
		}
		for _, in := range r.Ended {
			failed[in.Name] = stays
		}
	}
	return failed
}

// check refuses choices that mean nothing together. Where standard output takes
// files or diffs, findings go to standard error.
func (l *lintOptions) check(paths []string) error {
	switch {
	case l.server:
		return errors.New("--dry-run=server requires apply and a cluster of a Rancher; remove =server")
	case l.work.Fix && l.Live():
		return errors.New("--fix writes files; remove it for a cluster of a Rancher")
	case l.work.Fix && (l.files.DryRun || l.files.Print || slices.Contains(paths, "-")):
		l.toErr = true
		if l.Format != "text" {
			return errors.New("standard output is used for the file or the diff; remove -o " + l.Format)
		}
	case l.files.DryRun || l.files.Print:
		return errors.New("--dry-run and --stdout require --fix")
	}
	return nil
}

// refuse shows an error, and reports whether it keeps the file from being written.
// A refusal is the finding of its rule, and keeps the code that it has for every
// verb, unless it is about a part of a cluster.
func (l *lintOptions) refuse(all *report.Collector, err error, moved int) bool {
	var r *transform.Refused
	if !errors.As(err, &r) {
		all.Fail(err)
		return true
	}
	found := l.work.Refusal(r)
	stops := found[0].Stops()
	all.Show(r.At.File, r.At.File, r.At.Line, found, moved)
	switch r.Rule {
	case transform.Templated.ID, transform.Encrypted.ID:
	case rules.ChangedByOverlay.ID, rules.DuplicateCluster.ID:
		if !stops {
			return false
		}
	default:
		return false
	}
	all.Code = max(all.Code, exitcode.Of(err))
	return true
}
