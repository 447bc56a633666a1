// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	lm "github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Lint checks clusters, and corrects them.
type Lint struct {
	Options
	Fix    bool
	DryRun bool // with diffs
}

// Checked is what was found in a cluster, and what fixes made of it.
type Checked struct {
	Title    string
	Findings []transform.Finding
	Docs     []*yamledit.Document // as lint leaves them
	Edit
}

// Run checks every cluster, as far as the budget of a run lasts.
func (l Lint) Run(ctx context.Context) ([]Result[Checked], error) {
	results, err := Each(ctx, l.Options, func(f clusters.Cluster, t transform.Target) (*Checked, error) {
		if err := yamledit.CheckRun(l.Nodes, l.Parsed); err != nil {
			return nil, err
		}
		return l.cluster(f, t)
	})
	return results, cmp.Or(err, yamledit.CheckRun(l.Nodes, l.Parsed))
}

func (l Lint) cluster(f clusters.Cluster, t transform.Target) (*Checked, error) {
	c, err := f.Distro.Lint(slices.Concat(f.Docs, f.Related), t)
	if err == nil {
		err, _ = f.Refused(t)
	}
	if c == nil {
		return nil, err
	}
	var made []string
	if l.Fix {
		c, made = transform.Repair(f.Distro, c, t)
	}
	findings, unseen := transform.Unseen(f.Distro, append(c.Findings(""), f.Objections(t)...))
	slices.SortStableFunc(findings, func(a, b transform.Finding) int { return a.Line - b.Line })
	r := &Checked{Title: c.Identity().Distro + " " + c.Identity().Title(), Findings: append(findings, unseen...), Docs: f.Docs}
	if len(made) > 0 {
		after := c.Documents()[:len(f.Docs)]
		r.Edit = edited(report.Outcome{Name: f.Docs[0].File() + ": " + c.Identity().Title() + ": ", What: "fixed " + counted(made) + ","}, l.DryRun, f.Docs, after, func(int) int { return 0 })
		if !l.DryRun {
			r.Docs = after
		}
	}
	return r, err
}

// Refusal returns a refusal as its rule finds it.
func (l Lint) Refusal(r *transform.Refused) []transform.Finding {
	list := []transform.Finding{r.Finding()}
	for _, d := range l.Finder.Distros {
		if i := slices.IndexFunc(d.Rules, func(rule transform.Rule) bool { return rule.ID == r.Rule }); i >= 0 {
			return d.Rules[i].Report(list, l.Target.Accept)
		}
	}
	return list
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

// configured is a LeaderMigrationConfiguration that was found in a file.
type configured struct {
	root   yamledit.Node
	quotes []transform.Finding // about its text
}

// LintConfigs checks each LeaderMigrationConfiguration in files, and two against each other. It returns the findings
// of each, and the errors of files.
func LintConfigs(ctx context.Context, by lm.Config, paths []string, in io.Reader) (all [][]transform.Finding, errs []error, err error) {
	sources, err := source.Find(paths, in, source.Excluded{})
	errs = []error{err}
	var configs []configured
	for _, s := range sources {
		found, err := configsIn(ctx, s)
		configs, errs = append(configs, found...), append(errs, err)
	}
	sides := []string{by.Component}
	if by.Component == "" && len(configs) == 2 {
		sides = []string{lm.Manager, lm.CloudManager}
	}
	for i, c := range configs {
		side := by
		side.Component = sides[i%len(sides)]
		// A version that was not given, and that of a side that no one named, is not known.
		reader := lm.Reader{Component: side.Component, Lease: by.Lease, NodeIPAM: by.NodeIPAM}
		if side.Component != "" && (by.Kubernetes != "" || side.Component == lm.CloudManager && by.CCM != "") {
			if reader, err = side.Reader(); err != nil {
				return all, errs, cmp.Or(ctx.Err(), err)
			}
		}
		found := slices.Concat(c.quotes, lm.Lint(c.root, reader))
		if len(sides) == 2 && i == 1 {
			found = append(found, lm.LintBoth(configs[0].root, c.root)...)
		}
		slices.SortStableFunc(found, func(a, b transform.Finding) int { return a.Line - b.Line })
		all = append(all, found)
	}
	return all, errs, ctx.Err()
}

// configsIn returns the configurations of a file; one that was named must hold one.
func configsIn(ctx context.Context, s source.Source) ([]configured, error) {
	var all []configured
	text, err := s.Read()
	if err != nil {
		return nil, err
	}
	for c, err := range text.Documents() {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return all, err
		}
		if !bytes.Contains(c.Bytes, []byte(lm.Kind)) {
			continue
		}
		roots, quotes, err := lm.Read(c)
		for _, root := range roots {
			all, quotes = append(all, configured{root, quotes}), nil
		}
		if err != nil {
			return all, err
		}
	}
	if s.Named && len(all) == 0 {
		err = exitcode.With(exitcode.Refused, fmt.Errorf("%s: it has no %s; use a file with one, or a ConfigMap with one", s.Name, lm.Kind))
	}
	return all, err
}
