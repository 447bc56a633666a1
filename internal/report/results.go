// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Results are what a verb has found, for the formats of other programs. All of these
// formats are made from this one list.
type Results struct {
	Verb     string
	Version  string // of rke-lm
	Read     string // what was read; "" if it does not matter
	Rules    []transform.Rule
	Subjects []Subject
	Findings []transform.Finding // about no subject
	Errors   []Problem           // documents that were refused
	Summary                      // with the next command; empty for none
}

// Subject is a cluster, or a file, with its findings.
type Subject struct {
	Title    string
	File     string
	Line     int
	Findings []transform.Finding
	// The last ones of Findings are of stages alone: they do not count, as lint has none of them.
	ofStages int
	// Cells are its row of a summary, and Details what can be unfolded below, as Markdown.
	Cells   []string
	Details string
	// State is by what a page filters, "" for the worst finding, and Content what it shows; nil for the findings alone.
	State   string
	Content func(Subject) markup
	Classes []Class // the effective configuration, below it
	id      string  // of its section of the page
}

// Keep adds a subject; of findings that several stages have one is kept.
func (r *Results) Keep(s Subject) {
	s.Findings = once(s.Findings)
	r.Subjects = append(r.Subjects, s)
}

// All lists the findings in the order of the subjects.
func (r *Results) All() []transform.Finding {
	return append(lists.Flat(r.Subjects, func(s Subject) []transform.Finding { return s.Findings }), r.Findings...)
}

// once leaves out what is repeated.
func once(list []transform.Finding) []transform.Finding { return lists.Distinct(Findings(list)) }

// rule returns what is known of a rule; only its name for one that no table has.
func (r *Results) rule(id string) transform.Rule {
	rule, _ := lists.Find(r.Rules, func(rule transform.Rule) bool { return rule.ID == id })
	rule.ID = id
	return rule
}

// explained is a finding with what to do.
func explained(f transform.Finding) string {
	if f.Fix == "" {
		return f.Message
	}
	return f.Message + " → " + f.Fix
}
