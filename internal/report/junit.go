// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/rke-lm/rke-lm/transform"
)

// The elements of JUnit's XML that CI systems read.
type (
	junitSuite struct { // or testsuites, which counts the same of its suites
		XMLName  xml.Name
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
		Cases    []junitCase  `xml:"testcase"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		File    string     `xml:"file,attr,omitempty"`
		Line    int        `xml:"line,attr,omitempty"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Out     string     `xml:"system-out,omitempty"`
	}
	junitText struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes findings as tests: a suite for each subject, and a test for each
// finding. Errors that count fail; other findings pass with their text as output.
func (r *Results) WriteJUnit(w io.Writer) {
	all := junitSuite{XMLName: xml.Name{Local: "testsuites"}, Name: "rke-lm " + r.Verb}
	for _, s := range r.Subjects {
		all.add(suite(all.Name, s))
	}
	if len(r.Findings) > 0 {
		all.add(suite(all.Name, Subject{Title: r.Verb, Findings: r.Findings}))
	}
	for _, e := range r.Errors {
		all.add(junitSuite{Name: cmp.Or(e.File, "input"), Tests: 1, Errors: 1, Cases: []junitCase{{
			Class: all.Name, Name: "read", File: e.File, Line: e.Line, Error: &junitText{cmp.Or(e.Rule, "error"), e.Message, e.Message},
		}}})
	}
	io.WriteString(w, xml.Header)
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	enc.Encode(all)
	io.WriteString(w, "\n")
}

func (all *junitSuite) add(s junitSuite) {
	all.Suites = append(all.Suites, s)
	all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
}

func suite(class string, s Subject) junitSuite {
	out := junitSuite{Name: s.Title}
	for _, f := range s.Findings {
		c := junitCase{Class: class, Name: junitName(f), File: f.File, Line: f.Line}
		text := fmt.Sprintf("%s: %s", where(f), explained(f))
		if f.Stops() {
			c.Failure = &junitText{f.Rule, f.Message, text}
			out.Failures++
		} else {
			c.Out = fmt.Sprintf("%s%s %s", f.Severity, acceptedMark(f), text)
		}
		out.Cases = append(out.Cases, c)
	}
	if len(s.Findings) == 0 {
		out.Cases = []junitCase{{Class: class, Name: "no findings", File: s.File, Line: s.Line}}
	}
	out.Tests = len(out.Cases)
	return out
}

// junitName distinguishes findings of one rule.
func junitName(f transform.Finding) string {
	if f.Path == "" {
		return f.Rule
	}
	return f.Rule + " " + f.Path
}

func acceptedMark(f transform.Finding) string {
	if f.Accepted {
		return ", accepted"
	}
	return ""
}
