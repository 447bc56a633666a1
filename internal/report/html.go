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

// Content is what a page shows of a subject, as far as the verb has it.
type Content struct {
	Plan         *Plan
	Review       *ReviewedCluster
	Classes      []Class // the effective configuration
	Verification *Verification
	Ownership    *Ownership
	Timeline     *Timeline
}

// section is a subject with its place in the page.
type section struct {
	Subject
	id, state string
}

// WriteHTML writes one page: a table of the subjects with a filter, and the details of each.
func (r *Results) WriteHTML(w io.Writer, t Table) error {
	var list []section
	for i, s := range r.Subjects {
		list = append(list, section{s, fmt.Sprintf("subject-%d", i+1), s.state()})
	}
	m := &elements{}
	m.element("h1", "rke-lm "+r.Verb)
	about := r.totals()
	if r.Version != "" {
		about += " · rke-lm " + r.Version
	}
	m.element("p", about, "class", "quiet")
	for _, e := range r.Errors {
		m.within("p", func() { m.element("span", "error", "class", "severity error"); m.text(" " + e.Message) })
	}
	m.findings(r.Findings)
	m.table(t, list)
	for _, s := range list {
		m.section(s)
	}
	if when, next := r.Summary.next(); next != "" {
		m.within("p", func() { m.text(when + "next: "); m.element("code", next) })
	}
	_, err := strings.NewReplacer("<!--verb-->", html.EscapeString(r.Verb), "<!--content-->", m.String()).WriteString(w, pageText)
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
