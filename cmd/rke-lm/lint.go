// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// lintOptions are the flags of lint, and what it has found.
type lintOptions struct {
	rewrite
	tally
	fix    bool
	moved  int // lines that fixes added to the file in work
	states *states
}

func newLint(o *options) *cobra.Command {
	l := &lintOptions{rewrite: rewrite{options: o}}
	c := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check the configuration of clusters, and fix what can be fixed",
		Long: `Print what the static rules find in clusters as their files are, migratable or not.
An error makes the exit code 1, unless --accept acknowledges its rule.

--fix makes the corrections that need no decision, each proven, in place and
atomically, and prints the remaining findings. It changes nothing else, byte for byte.`,
		Example: `  rke-lm lint clusters/
  rke-lm lint --fix --dry-run clusters/harbour.yaml
  rke-lm lint -o json --end-state external clusters/harbour.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			l.states = l.newStates(l.err, l.repeatedChoices(c.Flags()))
			return l.run(c.Context(), args)
		},
	}
	o.fileFlags(c.Flags())
	o.liveFlags(c)
	o.targetFlags(c.Flags())
	o.outputFlag(c, lintFormats...)
	c.Flags().BoolVar(&l.fix, "fix", false, "make the corrections that need no decision")
	l.flags(c)
	return c
}

var lintFormats = slices.Concat([]string{"text", "json", "yaml"}, reportFormats)

func (l *lintOptions) run(ctx context.Context, paths []string) error {
	if err := l.check(paths); err != nil {
		return err
	}
	target, err := l.target()
	if err != nil {
		return err
	}
	if l.fix {
		l.begin()
	}
	failed := map[string]bool{} // files, by name
	nodes, parsed := yamledit.Spent()
	for r := range l.clusters(ctx, paths, func(f clusters.Cluster) (func() error, error) { return l.cluster(f, f.For(target)) }) {
		if err := r.Use(); err != nil {
			l.states.errors++
			failed[r.File()] = l.fail(err, target) || failed[r.File()]
		}
		if err := yamledit.CheckRun(nodes, parsed); err != nil {
			return err
		}
		if form := r.Form; form.Line > 0 {
			l.show(form.File, form.File, form.Line, review.NotRead(form, transform.Warning, target.Accept))
		}
		if len(r.Ended) == 0 {
			continue
		}
		stays := slices.ContainsFunc(r.Ended, func(in source.Text) bool { return failed[in.Name] })
		if err := l.ended(r.Ended, stays); err != nil {
			stays = true
			l.fail(err, target)
		}
		l.states.know(r.Ended, stays)
		for _, in := range r.Ended {
			delete(failed, in.Name)
		}
	}
	l.made.finish()
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.output == "text" {
		if err := l.states.finish(); err != nil {
			return err
		}
	}
	return l.finish()
}

// check refuses choices that mean nothing together. Where standard output takes
// files or diffs, findings go to standard error.
func (l *lintOptions) check(paths []string) error {
	if err := l.checkOutput(lintFormats); err != nil {
		return err
	}
	l.tally = newTally(l.options)
	switch {
	case l.server:
		return errors.New("--dry-run=server requires apply and a cluster of a Rancher; remove =server")
	case l.fix && l.live():
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

// cluster lints a cluster, and returns what shows its findings and keeps what
// fixes changed.
func (l *lintOptions) cluster(f clusters.Cluster, t transform.Target) (func() error, error) {
	c, err := f.Distro.Lint(slices.Concat(f.Docs, f.Related), t)
	if err == nil {
		err, _ = f.Refused(t)
	}
	if c == nil {
		return nil, err
	}
	var made []string
	if l.fix {
		c, made = transform.Repair(f.Distro, c, t)
	}
	findings, unseen := transform.Unseen(f.Distro, append(c.Findings(""), f.Objections(t)...))
	docs := f.Docs
	if len(made) > 0 && !l.files.DryRun {
		docs = c.Documents()[:len(docs)]
	}
	slices.SortStableFunc(findings, func(a, b transform.Finding) int { return a.Line - b.Line })
	return func() error {
		if l.output == "text" {
			l.states.take(worked{f, t, docs, err})
		}
		doc := f.Docs[0]
		l.show(c.Identity().Distro+" "+c.Identity().Title(), doc.File(), doc.Root().Line(), append(findings, unseen...))
		if len(made) == 0 {
			return nil
		}
		return l.keep(f, c, made)
	}, err
}

// show prints or keeps findings, with the lines that the file has after the
// fixes in front of them.
func (l *lintOptions) show(title, file string, line int, findings []transform.Finding) {
	for i := range findings {
		if findings[i].File != "" {
			findings[i].Line += l.moved
		}
	}
	l.add(title, file, line, findings)
}

// keep takes over what fixes made of a cluster.
func (l *lintOptions) keep(f clusters.Cluster, c transform.Cluster, made []string) error {
	l.note(f.Docs[0].File(), line{f.Docs[0].File() + ": " + c.Identity().Title() + ": ", "fixed " + counted(made) + ","})
	for i, after := range c.Documents() {
		before := f.Docs[i]
		if after == before {
			continue
		}
		if l.files.DryRun {
			outputs.WriteDiff(l.out, l.palette(l.out), outputs.Diff(before, after))
		}
		l.moved += bytes.Count(after.Bytes(), []byte("\n")) - bytes.Count(before.Bytes(), []byte("\n"))
		l.files.Change(before.Chunk(), after.Chunk(), 0)
	}
	return nil
}

// counted lists rules, with how often each is in the list.
func counted(rules []string) string {
	times := map[string]int{}
	for _, r := range rules {
		times[r]++
	}
	var text []string
	for _, r := range slices.Sorted(maps.Keys(times)) {
		if n := times[r]; n > 1 {
			r = fmt.Sprintf("%s (%d)", r, n)
		}
		text = append(text, r)
	}
	return strings.Join(text, ", ")
}

// fail shows an error, and reports whether it keeps the file from being written.
// A refusal is the finding of its rule, and keeps the code that it has for every
// verb, unless it is about a part of a cluster.
func (l *lintOptions) fail(err error, t transform.Target) bool {
	var r *transform.Refused
	if !errors.As(err, &r) {
		complain(l.err, err)
		l.found.Errors = append(l.found.Errors, problem(err))
		l.code = max(l.code, exitcode.Of(err))
		return true
	}
	findings := asFindings(r, t)
	l.show(r.At.File, r.At.File, r.At.Line, findings)
	switch r.Rule {
	case transform.Templated.ID, transform.Encrypted.ID:
		l.code = max(l.code, exitcode.Of(err))
		return true
	case rules.ChangedByOverlay.ID, rules.DuplicateCluster.ID:
		if findings[0].Stops() {
			l.code = max(l.code, exitcode.Of(err))
			return true
		}
	}
	return false
}

// asFindings returns a refusal as its rule finds it.
func asFindings(r *transform.Refused, t transform.Target) []transform.Finding {
	list := []transform.Finding{r.Finding()}
	for _, d := range distros() {
		for _, rule := range d.Rules {
			if rule.ID == r.Rule {
				return rule.Report(list, t.Accept)
			}
		}
	}
	return list
}

// ended writes files after their last document.
func (l *lintOptions) ended(files []source.Text, failed bool) error {
	l.moved = 0
	if !l.fix {
		return nil
	}
	return l.write(files, failed)
}
