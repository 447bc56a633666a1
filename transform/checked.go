// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Checked is a row of a distro's table: what is documented, what is checked, and
// what can be corrected without a decision. A rule without Check refuses a
// document before there is a cluster C to check.
type Checked[C any] struct {
	Rule
	Check func(C) []Finding
	Fix   func(C) []Correction
}

// Correction queues the correction of one finding.
type Correction = func(*yamledit.Edit) error

// RulesOf returns the rules of a table.
func RulesOf[C any](table []Checked[C]) []Rule {
	var rules []Rule
	for _, r := range table {
		r.Fixable = r.Fix != nil
		rules = append(rules, r.Rule)
	}
	return rules
}

// FindingsOf returns what the rules that guard a stage say about a cluster; with
// "" what all rules say.
func FindingsOf[C any](table []Checked[C], c C, stage string, accepted []string) []Finding {
	var found []Finding
	for _, r := range table {
		if r.Check != nil && (stage == "" || slices.Contains(r.Guards, stage)) {
			found = append(found, r.Report(r.Check(c), accepted)...)
		}
	}
	return found
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
