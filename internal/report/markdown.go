// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// WriteMarkdown writes a plan as a comment for a review: a table of the stages,
// and of each that is left why, what was found, the commands, and the diff to
// unfold.
func WriteMarkdown(w io.Writer, plan Plan) {
	fmt.Fprintf(w, "## %s\n\n", inline(title(plan)))
	fmt.Fprintf(w, "%s, from %s\n\n", inline(release(plan)), code(places(plan)))
	fmt.Fprint(w, "| stage | state | findings |\n|---|---|---|\n")
	for _, s := range plan.Stages {
		found := lists.Map(s.Findings, func(f transform.Finding) string { return string(f.Severity) + " " + code(f.Rule) })
		fmt.Fprintf(w, "| %s | %s | %s |\n", s.Name, emphasised(s), list(found))
	}
	fmt.Fprintln(w)
	io.WriteString(w, markdownFindings(plan.unstaged()))
	for _, s := range plan.Stages {
		if s.open() {
			markdownStage(w, s)
		}
	}
}

func emphasised(s Stage) string {
	if s.State == plan.Blocked {
		return "**" + s.Word() + "**"
	}
	return s.Word()
}

func markdownStage(w io.Writer, s Stage) {
	fmt.Fprintf(w, "### %s\n\n%s\n\n", s.Name, inline(s.Why))
	if text := s.effect(); text != "" {
		fmt.Fprintf(w, "%s\n\n", inline(text))
	}
	io.WriteString(w, markdownFindings(s.Findings))
	if len(s.Prepare) > 0 {
		fmt.Fprintf(w, "%s\n\n", inline(s.preparing()))
	}
	for _, a := range s.Actions {
		fmt.Fprintf(w, "%s:\n\n%s\n", inline(a.Why), fenced("sh", a.Command))
	}
	if s.Diff != "" {
		fmt.Fprintf(w, "<details><summary>Diff</summary>\n\n%s\n</details>\n\n", fenced("diff", s.Diff))
	}
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

// DefaultMaxBytes is the length of Markdown that GitHub and GitLab take as a comment, with
// some room for a greeting.
const DefaultMaxBytes = 60_000

// leastBytes leaves room for the lines that say what is missing.
const leastBytes = 1_000

// WriteMarkdown writes a summary with these columns, and the details of each subject folded below it, in at
// most so many bytes: subjects with errors come first, and the last details are left out.
func (r *Results) WriteMarkdown(w io.Writer, columns []string, maxBytes int) {
	limit := max(maxBytes, leastBytes)
	b := &limitedBuffer{limit: limit - 300} // for what is said of the missing parts
	fmt.Fprintf(&b.text, "## rke-lm %s\n\n%s\n\n", r.Verb, r.totals())
	if r.Read != "" {
		fmt.Fprintf(&b.text, "%s\n\n", inline(r.Read))
	}
	r.table(b, columns)
	for _, e := range r.Errors {
		b.add(fmt.Sprintf("- **error** %s\n", inline(e.Message)))
	}
	for _, f := range r.Findings {
		b.add(findingLine(f))
	}
	b.add("\n")
	hidden := 0
	for _, worst := range []bool{true, false} {
		for _, s := range r.Subjects {
			if s.stops() == worst && s.Details != "" && !b.add(r.fold(s)) {
				hidden++
			}
		}
	}
	if hidden > 0 {
		fmt.Fprintf(&b.text, "_The details of %d of %d are left out: with them the text is longer than %d bytes. See the output of `rke-lm %s`, or use `--max-bytes`._\n", hidden, len(r.Subjects), limit, r.Verb)
	}
	io.WriteString(w, b.text.String())
}

// table writes a row for each subject, as long as there is room.
func (r *Results) table(b *limitedBuffer, columns []string) {
	if len(r.Subjects) == 0 {
		return
	}
	b.add("| " + strings.Join(columns, " | ") + " |\n" + strings.Repeat("|---", len(columns)) + "|\n")
	room := b.limit * 2 / 3 // the rest is for details
	missing := 0
	for _, s := range r.Subjects {
		row := "| " + strings.Join(lists.Map(s.Cells, inline), " | ") + " |\n"
		if b.text.Len()+len(row) > room {
			missing++
			continue
		}
		b.add(row)
	}
	b.add("\n")
	if missing > 0 {
		b.add(fmt.Sprintf("_%d more rows are left out._\n\n", missing))
	}
}

// totals counts what was found, as lint does.
func (r *Results) totals() string {
	own := lists.Flat(r.Subjects, func(s Subject) []transform.Finding { return s.Findings[:len(s.Findings)-s.ofStages] })
	count := counts{}
	for _, f := range append(own, r.Findings...) {
		if f.Severity != transform.Error || f.Stops() {
			count[f.Severity]++
		}
	}
	text := fmt.Sprintf("clusters: %d, %s", len(r.Subjects), count)
	if len(r.Errors) > 0 {
		text += fmt.Sprintf(", refused: %d", len(r.Errors))
	}
	return text
}

// stops reports whether the subject has an error that counts.
func (s Subject) stops() bool {
	return slices.ContainsFunc(s.Findings, transform.Finding.Stops)
}

func (r *Results) fold(s Subject) string {
	if len(r.Subjects) == 1 && len(r.Findings)+len(r.Errors) == 0 { // all that there is to show
		return s.Details
	}
	return fmt.Sprintf("<details><summary>%s</summary>\n\n%s\n</details>\n\n", inline(s.Title), strings.TrimSuffix(s.Details, "\n"))
}

// limitedBuffer is a text that does not grow beyond its limit.
type limitedBuffer struct {
	text  strings.Builder
	limit int
}

// add reports whether there was room.
func (b *limitedBuffer) add(text string) bool {
	if b.text.Len()+len(text) > b.limit {
		return false
	}
	b.text.WriteString(text)
	return true
}
