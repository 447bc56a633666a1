// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

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
