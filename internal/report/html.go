// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

// pageText is the page around its content. It loads nothing, and its only links are to places in
// itself.
//
//go:embed page.html
var pageText string

// WriteHTML writes one page: a table of the subjects, with these columns and a filter, and the details of each.
func (r *Results) WriteHTML(w io.Writer, columns []string) {
	list := slices.Clone(r.Subjects)
	for i, s := range list {
		list[i].id, list[i].State = fmt.Sprintf("subject-%d", i+1), s.state()
	}
	about := r.totals()
	if r.Version != "" {
		about += " · rke-lm " + r.Version
	}
	m := element("h1", "rke-lm "+r.Verb) + element("p", about, "class", "quiet") + joined(r.Errors, func(e Problem) markup {
		return within("p", element("span", "error", "class", "severity error")+escape(" "+e.Message))
	}) + findingsTable(r.Findings) + overview(columns, list) + joined(list, Subject.details)
	if when, next := r.Summary.next(); next != "" {
		m += within("p", escape(when+"next: ")+element("code", next))
	}
	strings.NewReplacer("<!--verb-->", html.EscapeString(r.Verb), "<!--content-->", string(m)).WriteString(w, pageText)
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

// share is which part of the timeline an interval takes, in percent.
func (o Ownership) share(i Interval) float64 {
	total := 0.0
	for _, seconds := range o.Seconds {
		total += seconds
	}
	if total == 0 {
		return 0
	}
	return milli(100 * i.Length / total)
}
