// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// PlanTable, ReviewTable and FindingTable are the columns of summaries.
var (
	PlanTable    = []string{"Cluster", "Version", "Provider", "Situation", "Reached", "Next", "Findings", "File"}
	ReviewTable  = []string{"Cluster", "Version", "Change", "Findings"}
	FindingTable = []string{"Cluster", "Findings"}
)

// Subject is a plan as one of the results.
func (p Plan) Subject() Subject {
	s := Subject{Title: title(p), File: p.Source.File, Line: p.Source.Line, Findings: once(p.Status.Findings)}
	own := len(s.Findings)
	s.Findings = once(append(s.Findings, lists.Flat(p.Stages, func(s Stage) []transform.Finding { return s.Findings })...))
	s.ofStages = len(s.Findings) - own
	o := p.Status
	s.Cells = []string{s.Title, release(p), o.Provider, string(o.Situation), cmp.Or(o.Reached, "-"), o.next(), cmp.Or(o.found(), "-"), p.Source.File}
	var b strings.Builder
	WriteMarkdown(&b, p)
	s.Details = b.String()
	s.State, s.Content = word(o.Summary.State()), p.page
	switch {
	case o.Situation == plan.ProgressBroken(o.Version): // it is more than to do: components do not start
		s.State = string(o.Situation)
	case o.Errors > 0 && o.Summary.State() != plan.Blocked:
		s.State = "error: " + s.State
	}
	return s
}

// unstaged are the findings that no stage shows.
func (p Plan) unstaged() []transform.Finding {
	shown := lists.Flat(lists.Where(p.Stages, Stage.open), func(s Stage) []transform.Finding { return s.Findings })
	return unshown(p.Status.Findings, shown)
}

// unshown leaves out what is shown elsewhere, also if a stage makes an error of what is a warning until then.
func unshown(findings, shown []transform.Finding) []transform.Finding {
	return slices.DeleteFunc(once(findings), func(f transform.Finding) bool {
		return slices.ContainsFunc(shown, func(s transform.Finding) bool {
			return s.Rule == f.Rule && s.File == f.File && s.Line == f.Line && s.Path == f.Path
		})
	})
}

// FindingSubject is what has findings alone.
func FindingSubject(title, file string, line int, findings []transform.Finding) Subject {
	found := once(findings)
	return Subject{Title: title, File: file, Line: line, Findings: found, Cells: []string{title, counted(found)}, Details: markdownFindings(found)}
}

// Subject is a reviewed cluster as one of the results.
func (c ReviewedCluster) Subject() Subject {
	s := Subject{Title: title(c.plan()), File: c.Source.File, Line: c.Source.Line, Findings: once(c.Findings)}
	s.Cells = []string{s.Title, c.release(), c.summary(), counted(s.Findings)}
	var b strings.Builder
	c.writeMarkdown(&b)
	s.Details = b.String()
	s.Content = c.page
	return s
}

// counted lists the rules that found something, by how bad it is and how often.
func counted(findings []transform.Finding) string {
	names := lists.Map(findings, func(f transform.Finding) string { return string(f.Severity) + acceptedMark(f) + " " + f.Rule })
	return cmp.Or(strings.Join(Tally(names), "; "), "-")
}

// Tally returns names, each once, with how often it is there if that is more than once.
func Tally(names []string) []string {
	times := map[string]int{}
	for _, name := range names {
		times[name]++
	}
	return lists.Map(lists.Distinct(names), func(name string) string {
		if n := times[name]; n > 1 {
			return fmt.Sprintf("%s (%d)", name, n)
		}
		return name
	})
}

// Subject is the verdict on a live cluster as one of the results.
func (v Verification) Subject(title string) Subject {
	found := slices.Clone(v.Findings)
	if !v.OK && !slices.ContainsFunc(found, transform.Finding.Stops) {
		found = append(found, transform.Finding{
			Rule: "not-checked", Severity: transform.Error, Path: title, Message: "what the stage requires is not in the dump: " + v.needed(), Fix: "print the missing kinds as well",
		})
	}
	s := FindingSubject(title, "", 0, found)
	s.Content = v.page
	return s
}

// OwnershipTable are the columns of a summary of a timeline.
var OwnershipTable = []string{"Cluster", "No manager", "One", "Two", "Unknown"}

// Subject is a timeline as one of the results.
func (o Ownership) Subject(title string) Subject {
	seconds := lists.Map([]string{"0", "1", "2", unknown}, func(count string) string { return fmt.Sprintf("%.1f s", o.Seconds[count]) })
	return Subject{Title: title, Cells: append([]string{title}, seconds...), Content: o.page}
}

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

// explained is a finding with what to do.
func explained(f transform.Finding) string {
	if f.Fix == "" {
		return f.Message
	}
	return f.Message + " → " + f.Fix
}

// Findings returns findings for programs: never null, and without what looks
// like a secret: rules name keys and arguments, and people put secrets into odd
// places. They have no offset, so that what is shown alike is equal.
func Findings(list []transform.Finding) []transform.Finding {
	shown := make([]transform.Finding, len(list))
	for i, f := range list {
		f.FormerRule, f.Offset = transform.FormerName(f.Rule), 0
		f.Path, f.Message, f.Fix = redact.Text(f.Path), redact.Text(f.Message), redact.Text(f.Fix)
		shown[i] = f
	}
	return shown
}

// where is the place in a file, or the object of a cluster.
func where(f transform.Finding) string {
	switch {
	case f.File == "":
		return f.Path
	case f.Line == 0: // it is about the file
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// WriteFindings writes findings for people: one that repeats once, with all of its places.
func WriteFindings(w io.Writer, p Palette, findings []transform.Finding, indent string) {
	for _, same := range repeated(Findings(findings)) {
		f := same[0]
		fmt.Fprintf(w, "%s%s %s%s  %s\n", indent, p.severity(f.Severity), f.Rule, acceptedMark(f), words(list(lists.Map(same, where))))
		fmt.Fprintln(w, p.Wrap(f.Message, indent+"  "))
		if f.Fix != "" {
			fmt.Fprintln(w, p.Wrap("→ "+f.Fix, indent+"  "))
		}
	}
}

// repeated joins findings that differ in their places alone.
func repeated(findings []transform.Finding) [][]transform.Finding {
	var groups [][]transform.Finding
	at := map[transform.Finding]int{} // the group of each, without a place
	for _, f := range findings {
		key := f
		key.File, key.Line, key.Path = "", 0, ""
		i, known := at[key]
		if !known {
			i, groups = len(groups), append(groups, nil)
			at[key] = i
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// list joins names in a sentence.
func list(names []string) string { return strings.Join(names, ", ") }
