// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// PlanTable, ReviewTable and FindingTable are the columns of summaries.
var (
	PlanTable    = []string{"Cluster", "Version", "Provider", "Situation", "Reached", "Next", "Findings", "File"}
	ReviewTable  = []string{"Cluster", "Version", "Change", "Findings"}
	FindingTable = []string{"Cluster", "Findings"}
)

// FindingSubject is what has findings alone.
func FindingSubject(title, file string, line int, findings []transform.Finding) Subject {
	found := once(findings)
	return Subject{Title: title, File: file, Line: line, Findings: found, Cells: []string{title, counted(found)}, Details: markdownFindings(found)}
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

// markup is HTML. All text and all values of attributes become markup through escape, within and
// element, which escape them. The package html/template would do the same, but calls methods by
// their names, so that the linker keeps all methods of all types: ten megabytes.
type markup string

func escape(text string) markup { return markup(html.EscapeString(text)) }

// within is an element around markup, with pairs of attributes.
func within(tag string, inner markup, attributes ...string) markup {
	start := markup("<" + tag)
	for pair := range slices.Chunk(attributes, 2) {
		start += markup(" " + pair[0])
		if pair[1] != "" {
			start += `="` + escape(pair[1]) + `"`
		}
	}
	end := markup("</" + tag + ">")
	if !slices.Contains([]string{"span", "code", "a", "td", "th", "strong"}, tag) {
		end += "\n"
	}
	return start + ">" + inner + end
}

// element is an element with a text.
func element(tag, text string, attributes ...string) markup {
	return within(tag, escape(text), attributes...)
}

// joined is the markup of all items of a list.
func joined[T any](list []T, of func(T) markup) markup {
	var b strings.Builder
	for _, item := range list {
		b.WriteString(string(of(item)))
	}
	return markup(b.String())
}

// badge is a state, in the color of its first word.
func badge(state string) markup {
	kind, _, _ := strings.Cut(state, ":")
	return element("span", state, "class", "state "+kind)
}

// grid is a table that scrolls by itself.
func grid(columns []string, rows markup, attributes ...string) markup {
	var head markup
	if len(columns) > 0 {
		head = within("thead", within("tr", joined(columns, func(c string) markup { return element("th", c) })))
	}
	return within("div", within("table", head+within("tbody", rows), attributes...), "class", "scroll")
}

// cells is a row of texts.
func cells(texts ...string) markup {
	return within("tr", joined(texts, func(text string) markup { return element("td", text) }))
}

// overview is the filter and the table of the subjects.
func overview(columns []string, all []Subject) markup {
	if len(all) == 0 {
		return ""
	}
	states := lists.Map(all, func(s Subject) string { return s.State })
	slices.Sort(states)
	filter := within("form", `<input type="search" id="text" placeholder="Filter" aria-label="Filter by text">`+
		within("select", element("option", "all states", "value", "")+joined(slices.Compact(states), func(s string) markup { return element("option", s) }),
			"id", "state", "aria-label", "Filter by state")+
		element("span", fmt.Sprintf("%d of %d", len(all), len(all)), "class", "quiet", "id", "count", "role", "status"), "class", "filter", "id", "filter")
	return filter + grid(append([]string{"State"}, columns...), joined(all, Subject.row), "id", "subjects")
}

// row is the row of a subject in the table.
func (s Subject) row() markup {
	row := within("td", badge(s.State))
	for i, cell := range s.Cells {
		if i == 0 {
			row += within("td", element("a", cell, "href", "#"+s.id))
		} else {
			row += element("td", cell)
		}
	}
	return within("tr", row, "data-of", s.id, "data-state", s.State)
}

// details are all that the page shows of a subject.
func (s Subject) details() markup {
	var at markup
	if s.File != "" {
		at = element("code", place(Source{File: s.File, Line: s.Line})) + " · "
	}
	content := findingsTable(s.Findings)
	if s.Content != nil {
		content = s.Content(s)
	}
	return within("section", within("h2", escape(s.Title+" ")+badge(s.State))+
		within("p", at+element("a", "to the table", "href", "#top"), "class", "quiet")+content+configuration(s.Classes), "id", s.id)
}

func findingsTable(list []transform.Finding) markup {
	if len(list) == 0 {
		return ""
	}
	return grid(nil, joined(list, func(f transform.Finding) markup {
		message := escape(f.Message)
		if f.Fix != "" {
			message += "<br>" + escape("→ "+f.Fix)
		}
		severity := element("span", string(f.Severity), "class", "severity "+string(f.Severity))
		return within("tr", within("td", severity+escape(acceptedMark(f))+"<br>"+element("code", f.Rule), "class", "rule")+
			within("td", element("code", where(f)))+within("td", message))
	}), "class", "findings")
}

// diffLines is a diff; nothing for "".
func diffLines(diff string) markup {
	if diff == "" {
		return ""
	}
	return within("pre", joined(slices.Collect(strings.Lines(diff)), func(line string) markup {
		return element("span", line, "class", diffPartOf(line).class)
	}))
}

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

// markdownFindings is a list with a blank line after it; nothing for none.
func markdownFindings(findings []transform.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	return strings.Join(lists.Map(findings, findingLine), "") + "\n"
}

// findingLine is a finding as an item of a list.
func findingLine(f transform.Finding) string {
	accepted := ""
	if f.Accepted {
		accepted = " (accepted)"
	}
	line := fmt.Sprintf("- **%s** %s%s %s: %s", f.Severity, code(f.Rule), accepted, code(where(f)), inline(f.Message))
	if f.Fix != "" {
		line += " → " + inline(f.Fix)
	}
	return line + "\n"
}

// inline keeps text from being taken for markup, and from making lines, mentions of
// people, references and links.
func inline(text string) string {
	text = links.ReplaceAllString(markdownEscaper.Replace(text), "`$0`")
	if strings.IndexAny(text, "#+-=") == 0 {
		return "\\" + text
	}
	return text
}

var markdownEscaper = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", "\\|", "~", "\\~",
	"\r\n", " ", "\n", " ", "\r", " ")

// links are what GitHub and GitLab make links of, even where a backslash is before it: addresses, people,
// issues and merge requests by their signs, and commits by 7 to 64 digits. In a code span they do not.
var links = regexp.MustCompile(`://|@|#\b|[!$%]\d+|www\.|(?i:\bGH-\d+)|\b[0-9a-fA-F]{7,64}\b`)

// code shows a name as it is.
func code(text string) string {
	if text == "" || strings.ContainsAny(text, "`|\n\r") {
		return inline(text)
	}
	return "`" + text + "`"
}

// fenced puts text in a code block that nothing in it can end.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}

// stops reports whether the subject has an error that counts.
func (s Subject) stops() bool {
	return slices.ContainsFunc(s.Findings, transform.Finding.Stops)
}
