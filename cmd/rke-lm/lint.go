// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

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
	fix   bool
	shown io.Writer // where findings go as text
	flags []string  // that the next command repeats
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
			l.flags = l.repeatedChoices(c.Flags())
			return l.run(c.Context(), args)
		},
	}
	o.fileFlags(c.Flags())
	o.liveFlags(c)
	o.targetFlags(c.Flags())
	o.outputFlag(c, everyFormat...)
	c.Flags().BoolVar(&l.fix, "fix", false, "make the corrections that need no decision")
	l.rewriteFlags(c)
	return c
}

func (l *lintOptions) run(ctx context.Context, paths []string) error {
	if err := l.check(paths); err != nil {
		return err
	}
	l.files.Out = l.data()
	o, err := l.found(ctx, paths)
	if err != nil {
		return err
	}
	results, err := run.Lint{Options: o, Fix: l.fix, DryRun: l.files.DryRun}.Run(ctx)
	if err != nil {
		return err
	}
	all := l.collect()
	all.flags, all.shown = l.flags, l.shown
	failed := l.write(ctx, results, all)
	all.writeOutcomes("clusters")
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.output == "text" {
		var states []worked
		for _, r := range results {
			switch {
			case r.Made != nil && !failed[r.File]:
				states = append(states, worked{r.Cluster, r.Target, r.Made.Docs, r.Err})
			case r.Made != nil:
				states = append(states, worked{r.Cluster, r.Target, r.Docs, r.Err})
			case r.Err != nil:
				states = append(states, worked{err: r.Err})
			}
		}
		if err := all.writeStates(l.err, states); err != nil {
			return err
		}
	}
	return all.finish()
}

// write shows what was found, and writes what fixes changed. It returns the files that are not written.
func (l *lintOptions) write(ctx context.Context, results []run.Result[run.Checked], all *collector) map[string]bool {
	failed, edits := map[string]bool{}, map[string][]run.Edit{}
	moved := 0 // lines that fixes added to the file
	for _, r := range results {
		if ctx.Err() != nil {
			break
		}
		if r.Made != nil {
			doc := r.Docs[0]
			all.show(r.Made.Title, doc.File(), doc.Root().Line(), r.Made.Findings, moved)
			l.show(r.Made.Edit)
			moved, edits[r.File] = moved+r.Made.Moved, append(edits[r.File], r.Made.Edit)
		}
		if r.Err != nil {
			failed[r.File] = all.refuse(r.Err, l.choices.Accept, moved) || failed[r.File]
		}
		if form := r.Form; form.Line > 0 {
			all.show(form.File, form.File, form.Line, review.NotRead(form, transform.Warning, l.choices.Accept), moved)
		}
		if len(r.Ended) == 0 || !l.fix {
			continue
		}
		moved = 0
		stays := slices.ContainsFunc(r.Ended, func(in source.Text) bool { return failed[in.Name] })
		if err := l.rewrite.write(r.Ended, edits, stays, all); err != nil {
			stays = true
			all.refuse(err, l.choices.Accept, 0)
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
	l.shown = l.out
	switch {
	case l.server:
		return errors.New("--dry-run=server requires apply and a cluster of a Rancher; remove =server")
	case l.fix && l.Live():
		return errors.New("--fix writes files; remove it for a cluster of a Rancher")
	case l.fix && (l.files.DryRun || l.files.Print || slices.Contains(paths, "-")):
		l.shown = l.err
		if l.output != "text" {
			return errors.New("standard output is used for the file or the diff; remove -o " + l.output)
		}
	case l.files.DryRun || l.files.Print:
		return errors.New("--dry-run and --stdout require --fix")
	}
	return nil
}

// refuse shows an error, and reports whether it keeps the file from being written.
// A refusal is the finding of its rule, and keeps the code that it has for every
// verb, unless it is about a part of a cluster.
func (c *collector) refuse(err error, accept []string, moved int) bool {
	var r *transform.Refused
	if !errors.As(err, &r) {
		c.fail(err)
		return true
	}
	found := asFindings(r, accept)
	stops := found[0].Stops()
	c.show(r.At.File, r.At.File, r.At.Line, found, moved)
	switch r.Rule {
	case transform.Templated.ID, transform.Encrypted.ID:
	case rules.ChangedByOverlay.ID, rules.DuplicateCluster.ID:
		if !stops {
			return false
		}
	default:
		return false
	}
	c.code = max(c.code, exitcode.Of(err))
	return true
}

// asFindings returns a refusal as its rule finds it.
func asFindings(r *transform.Refused, accept []string) []transform.Finding {
	list := []transform.Finding{r.Finding()}
	for _, d := range distros() {
		for _, rule := range d.Rules {
			if rule.ID == r.Rule {
				return rule.Report(list, accept)
			}
		}
	}
	return list
}
