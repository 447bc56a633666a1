// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// Ends is what became of files that end together, and of the clusters in them.
type Ends struct {
	Notes    []string
	Files    []string // what became of each that was changed
	Clusters []Outcome
	Errs     []error
}

// End shows what became of files.
func (c *Collector) End(e Ends) {
	for _, note := range e.Notes {
		fmt.Fprintln(c.Err, note)
	}
	for _, what := range e.Files {
		c.files = counting(c.files, Outcome{What: what})
	}
	for _, o := range e.Clusters {
		c.Became(o)
	}
	for _, err := range e.Errs {
		c.Fail(err)
	}
}

// Applied is what became of a cluster to which stages were applied, or whose stages were undone.
type Applied struct {
	Findings [][]transform.Finding
	Cautions []string // about stages that are undone
	Manual   []plan.Step
	Open     bool                // manual stages, and no edit
	Accepted []transform.Finding // about a live cluster
	Diffs    []string            // of a dry run
	Warnings []string            // of the API server
	Became   Outcome
	Live     bool
	Ends
}

// Applied shows what became of a cluster: of a live one in a line of its own.
func (c *Collector) Applied(a Applied) {
	for _, found := range a.Findings {
		WriteFindings(c.Err, c.ErrPalette, found, "")
	}
	for _, caution := range a.Cautions {
		fmt.Fprintln(c.Err, c.ErrPalette.Wrap("caution: "+caution, ""))
	}
	for _, s := range a.Manual {
		writeManual(c.Err, c.ErrPalette, s)
	}
	if a.Open {
		c.Code = max(c.Code, transform.ExitFound)
	}
	WriteFindings(c.Err, c.ErrPalette, a.Accepted, "")
	c.WriteDiffs(a.Diffs)
	for _, warning := range a.Warnings {
		fmt.Fprintln(c.Err, warning)
	}
	if a.Live && a.Became != (Outcome{}) {
		fmt.Fprintln(c.Err, a.Became)
	} else {
		c.Became(a.Became)
	}
	c.End(a.Ends)
}

// WriteDiffs writes the diffs of a dry run.
func (c *Collector) WriteDiffs(diffs []string) {
	for _, d := range diffs {
		WriteDiff(c.Out, c.Palette, d)
	}
}

// WriteAfter writes how to check what was changed, and the states of the clusters with the next command.
func (c *Collector) WriteAfter(s States, undone bool) {
	before, how, line := "before the next stage", "commit, roll out", "  "
	if s.Live != "" {
		how = "wait for the rollout"
	}
	next := s.Alone && s.Of[0].Next != ""
	if undone || s.Alone && !next {
		if before = "now"; s.Alone {
			line = "next: "
		}
	}
	if s.Check != "" {
		fmt.Fprintf(c.Err, "%s: %s, and check it:\n%s%s %s\n", before, how, line, s.Check, action.Words(c.Reach(s.Live)...))
	}
	if c.WriteStates(s); next && !undone {
		c.WriteNext(c.Err, c.ErrPalette)
	}
}

// Checked is what was found in a cluster, and what became of its fixes.
type Checked struct {
	Found []Subject
	Diffs []string // of a dry run
	Err   error
	Code  int // of a refusal that was found
	Ends
}

// Checked shows what was found in a cluster.
func (c *Collector) Checked(r Checked) {
	for _, s := range r.Found {
		c.Show(s)
	}
	c.WriteDiffs(r.Diffs)
	c.Fail(r.Err)
	c.Code = max(c.Code, r.Code)
	c.End(r.Ends)
}
