// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Rules are the rules, for programs.
type Rules struct {
	TypeMeta
	Rules []Rule `json:"rules"`
}

// Rule is one rule as some kinds of clusters have it.
type Rule struct {
	Name       string             `json:"name"`
	For        []string           `json:"for"`
	Severity   transform.Severity `json:"severity"`
	Stages     []string           `json:"stages"`
	Acceptable bool               `json:"acceptable"`
	Fixable    bool               `json:"fixable"`
	Finds      string             `json:"finds"`
	transform.Reason
}

// AddRule adds a rule of one kind of clusters, to the row of another kind that has the
// same.
func AddRule(list []Rule, of string, r transform.Rule) []Rule {
	row := Rule{Name: r.ID, Severity: r.Severity, Stages: append([]string{}, r.Guards...), Acceptable: r.Acceptable(), Fixable: r.Fixable, Finds: r.Doc, Reason: r.Reason}
	for i, other := range list {
		kinds := other.For
		if other.For = nil; reflect.DeepEqual(other, row) {
			if !slices.Contains(kinds, of) {
				list[i].For = append(kinds, of)
			}
			return list
		}
	}
	row.For = []string{of}
	return append(list, row)
}

// WriteRuleList writes a line for each rule.
func WriteRuleList(w io.Writer, p Palette, list []Rule) {
	names := aligned(lists.Map(list, func(r Rule) []string { return []string{r.Name, ""} }))
	for i, r := range list {
		if i > 0 && list[i-1].Name == r.Name {
			continue // RULE shows its forms
		}
		fmt.Fprintf(w, "%s%s  %s\n", names[i], p.severity(r.Severity)+strings.Repeat(" ", len(transform.Warning)-len(r.Severity)), summary(r.Finds))
	}
}

// summary is the first clause of a description, where that is enough for a line.
func summary(text string) string {
	const enough = 100
	first, _, _ := strings.Cut(text, ". ")
	if clause, _, found := strings.Cut(first, ": "); found && len(first) > enough && len(clause) > 20 {
		first = clause
	}
	return strings.TrimSuffix(first, ".")
}

// WriteRules explains rules.
func WriteRules(w io.Writer, p Palette, list []Rule) {
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s  %s\n", p.paint(bold, r.Name), p.severity(r.Severity), strings.Join(r.For, ", "))
		fmt.Fprintln(w, p.Wrap(r.Finds, "  "))
		for _, part := range []struct{ name, text string }{
			{"Why", r.Why}, {"Correct it", r.Repair}, {"Accept it", r.acceptance()}, {"Stages", r.stages()}, {"Source", r.Source},
		} {
			fmt.Fprintf(w, "\n  %s\n%s\n", p.paint(dim, part.name), p.Wrap(part.text, "    "))
		}
	}
}

func (r Rule) acceptance() string {
	if !r.Acceptable {
		return "Never: --accept is refused for this rule."
	}
	return "--accept " + r.Name + ". " + r.Accept
}

func (r Rule) stages() string {
	switch {
	case len(r.Stages) == 0:
		return "None: it blocks no stage, or refuses the document."
	case r.Severity != transform.Error:
		return "Shown with " + strings.Join(r.Stages, ", ") + "."
	}
	return "Errors block " + strings.Join(r.Stages, ", ") + "."
}
