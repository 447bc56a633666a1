// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

// page is one file: it loads nothing, and its only links are to places in itself.
//
//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"lines": diffLines, "place": where, "compact": compact, "accepted": acceptedMark,
	"through": through, "settings": Class.settings, "roles": roles, "word": Stage.Word, "effect": Stage.effect, "open": Stage.open,
}).Parse(pageText))

// Content is what a page shows of a subject, as far as the verb has it.
type Content struct {
	Plan         *Plan
	Review       *ReviewedCluster
	Classes      []Class // the effective configuration
	Verification *Verification
	Ownership    *Ownership
}

// htmlPage is what the page is made from.
type htmlPage struct {
	*Results
	Totals   string
	Columns  []string
	States   []string
	Sections []section
}

// section is a subject with its place in the page.
type section struct {
	Subject
	ID    string
	State string
}

// WriteHTML writes one page: a table of the subjects with a filter, and the details of each.
func (r *Results) WriteHTML(w io.Writer, t Table) error {
	p := htmlPage{Results: r, Totals: r.totals(), Columns: t.Columns}
	for i, s := range r.Subjects {
		one := section{s, fmt.Sprintf("subject-%d", i+1), s.state()}
		p.Sections = append(p.Sections, one)
		if !slices.Contains(p.States, one.State) {
			p.States = append(p.States, one.State)
		}
	}
	slices.Sort(p.States)
	var b bytes.Buffer // an error leaves no half of a page
	if err := page.Execute(&b, p); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// state is by what the filter finds a subject: how far it is, or its worst finding.
func (s Subject) state() string {
	switch {
	case s.State != "":
		return s.State
	case s.stops():
		return "error"
	}
	for _, of := range []transform.Severity{transform.Warning, transform.Note} {
		if slices.ContainsFunc(s.Findings, func(f transform.Finding) bool { return f.Severity == of }) {
			return string(of)
		}
	}
	return "ok"
}

// stateOf is that of a plan.
func stateOf(o transform.Outlook) string {
	switch {
	case o.Next == "":
		return "done"
	case len(o.Blocked) > 0:
		return "blocked"
	}
	return "to do"
}

// diffLine is a line of a diff, and what it is.
type diffLine struct{ Class, Text string }

func diffLines(diff string) (list []diffLine) {
	for line := range strings.Lines(diff) {
		class := ""
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			class = "file"
		case strings.HasPrefix(line, "@@"):
			class = "hunk"
		case strings.HasPrefix(line, "+"):
			class = "added"
		case strings.HasPrefix(line, "-"):
			class = "removed"
		}
		list = append(list, diffLine{class, line})
	}
	return list
}

// setting is a key of an effective configuration.
type setting struct {
	Key, Value string
	Origin     Origin
	Over       []Origin
}

func (c Class) settings() (list []setting) {
	for _, key := range c.keys {
		list = append(list, setting{key, compact(c.Config[key]), c.Origins[key], c.Overridden[key]})
	}
	return list
}

// Share is which part of the timeline an interval takes, in percent.
func (o Ownership) Share(i Interval) float64 {
	total := 0.0
	for _, seconds := range o.Seconds {
		total += seconds
	}
	if total == 0 {
		return 0
	}
	return milli(100 * i.Length / total)
}
