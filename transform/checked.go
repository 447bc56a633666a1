// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Checked is a row of a format's table: what is documented, what is checked, and
// what can be corrected without a decision. A rule without Check refuses a
// document before there is a cluster C to check.
type Checked[C any] struct {
	Rule
	Check func(C, *Findings)
	Fix   func(C) []Correction
	// Lacks says what the rule cannot do without and was not seen; "" for nothing. It is of rules of live clusters.
	Lacks func(C) string
	// Needed reports whether what was asked of a live cluster is unknown without the rule; nil for never.
	Needed func(C) bool
}

// Correction queues the correction of one finding.
type Correction = func(*yamledit.Edit)

// WithGuards is the row for a format in which an error stops other stages.
func (r Checked[C]) WithGuards(stages ...string) Checked[C] {
	r.Rule = r.Rule.WithGuards(stages...)
	return r
}

// WithDoc is the row for a format in which it finds other things.
func (r Checked[C]) WithDoc(doc string) Checked[C] {
	r.Rule = r.Rule.WithDoc(doc)
	return r
}

// Table joins rows to a table in the order of their IDs.
func Table[C any](rows ...[]Checked[C]) []Checked[C] {
	return slices.SortedFunc(slices.Values(slices.Concat(rows...)), func(a, b Checked[C]) int { return strings.Compare(a.ID, b.ID) })
}

// RulesOf returns the rules of a table.
func RulesOf[C any](table []Checked[C]) []Rule {
	return lists.Map(table, func(r Checked[C]) Rule {
		r.Fixable = r.Fix != nil
		return r.Rule
	})
}

// FindingsOf returns what the rules that guard a stage say about a cluster; with
// "" what all rules say.
func FindingsOf[C any](table []Checked[C], c C, stage string, accepted []string) []Finding {
	var all []Finding
	for _, r := range table {
		if r.Check != nil && (stage == "" || slices.Contains(r.Guards, stage)) {
			var found Findings
			r.Check(c, &found)
			all = append(all, r.Report(found, accepted)...)
		}
	}
	return all
}

// FixesOf returns the corrections that the rules of a table know.
func FixesOf[C any](table []Checked[C], c C) []Fix {
	var fixes []Fix
	for _, r := range table {
		if r.Fix == nil {
			continue
		}
		for _, queue := range r.Fix(c) {
			fixes = append(fixes, Fix{Rule: r.ID, Queue: queue})
		}
	}
	return fixes
}

// Fix is the mechanical correction of one finding, in the first document of a cluster. The edit fails where it takes a
// hand.
type Fix struct {
	Rule  string
	Queue func(*yamledit.Edit)
}

// Fixer is a Cluster that knows corrections of its findings.
type Fixer interface {
	Cluster
	Fixes() []Fix
}
