// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
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
		r.Edit = edited(Outcome{f.Docs[0].File() + ": " + c.Identity().Title() + ": ", "fixed " + counted(made) + ","}, l.DryRun, f.Docs, after, func(int) int { return 0 })
		if !l.DryRun {
			r.Docs = after
		}
	}
	return r, err
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
