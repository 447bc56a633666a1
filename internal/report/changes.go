// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Diff returns the unified diff of two states of a document, without its
// secrets, with the line numbers of the file; "" where they show the same. It is for review: a context line
// with a secret does not apply. The heading of a hunk is the path of what changes.
func Diff(before, after *yamledit.Document) string {
	start, oldEnd, nowEnd := changedRange(before.Bytes(), after.Bytes())
	if before.Chunk().Served { // its lines are counted as they are shown
		start, oldEnd, nowEnd = 0, len(before.Bytes()), len(after.Bytes())
	}
	old, now := show(before, start, oldEnd), show(after, start, nowEnd)
	file := strings.TrimPrefix(before.File(), "/")
	u, err := udiff.ToUnifiedDiff("a/"+file, "b/"+file, old.text, udiff.Lines(old.text, now.text), udiff.DefaultContextLines)
	if err != nil || len(u.Hunks) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", u.From, u.To)
	grown := 0 // what the hunks before one add; the library loses count of it
	for _, h := range u.Hunks {
		h.ToLine = h.FromLine + grown
		kind, line := changed(h)
		heading := now
		if kind == udiff.Delete {
			heading = old
		}
		grown += hunk(&b, h, before.Chunk().Line+old.after, heading.path(line))
	}
	return b.String()
}

// changedRange returns the range of the lines in which two texts differ, and of lines around them: the offset where it
// starts in both, and where it ends in each.
func changedRange(old, now []byte) (start, oldEnd, nowEnd int) {
	const around = 4 * udiff.DefaultContextLines // an insertion may have several places, and its context is around the first one
	most := min(len(old), len(now))
	for start < most && old[start] == now[start] {
		start++
	}
	end := 0
	for end < most-start && old[len(old)-1-end] == now[len(now)-1-end] {
		end++
	}
	for range around + 1 { // the first one is the rest of the line that differs
		start = bytes.LastIndexByte(old[:max(start-1, 0)], '\n') + 1
	}
	oldEnd = len(old) - end
	for range around + 1 {
		if i := bytes.IndexByte(old[oldEnd:], '\n'); i >= 0 {
			oldEnd += i + 1
		} else {
			oldEnd = len(old)
		}
	}
	return start, oldEnd, oldEnd + len(now) - len(old)
}

// shownText is what is shown of lines of a document. from has for each line the one of the
// document, from 1 on; nil where they are the same.
type shownText struct {
	doc   *yamledit.Document
	text  string
	after int // lines of the document
	from  []int
}

func show(d *yamledit.Document, start, end int) shownText {
	t := shownText{doc: d, text: redact.Lines(d, start, end), after: bytes.Count(d.Bytes()[:start], []byte("\n"))}
	if d.Chunk().Served {
		t.text, t.from = unfolded(t.text)
	}
	return t
}

// path is that of what a line of the text belongs to.
func (t shownText) path(line int) string {
	if t.from != nil && line <= len(t.from) {
		line = t.from[line-1]
	}
	return words(redact.Text(t.doc.At(t.doc.Chunk().Line + t.after + line).Path()))
}

// hunk writes one hunk of a text that is in its file after a number of lines,
// and returns how many lines it adds.
func hunk(b *strings.Builder, h *udiff.Hunk, offset int, heading string) (grown int) {
	from, to := 0, 0
	for _, l := range h.Lines {
		if l.Kind != udiff.Insert {
			from++
		}
		if l.Kind != udiff.Delete {
			to++
		}
	}
	head := fmt.Sprintf("@@ -%d,%d +%d,%d @@ %s", h.FromLine+offset, from, h.ToLine+offset, to, heading)
	b.WriteString(strings.TrimSuffix(head, " ") + "\n")
	for _, l := range h.Lines {
		b.WriteString(signs[l.Kind])
		b.WriteString(strings.TrimSuffix(l.Content, "\n"))
		b.WriteByte('\n')
		if !strings.HasSuffix(l.Content, "\n") {
			b.WriteString("\\ No newline at end of file\n")
		}
	}
	return to - from
}

// changed returns the first line of a hunk that changes, and its number in its text: one with
// content if there is any. A comment is no part of a node, nor is the comma that JSON has before
// the next one.
func changed(h *udiff.Hunk) (kind udiff.OpKind, line int) {
	kept := func(l udiff.Line) bool {
		return slices.ContainsFunc(h.Lines, func(o udiff.Line) bool { return o.Kind != l.Kind && content(o) == content(l) })
	}
	from, to := h.FromLine, h.ToLine
	for _, l := range h.Lines {
		at := from
		if l.Kind == udiff.Insert {
			at = to
		}
		if l.Kind != udiff.Equal {
			if text := content(l); text != "" && text[0] != '#' && !kept(l) {
				return l.Kind, at
			}
			if line == 0 {
				kind, line = l.Kind, at
			}
		}
		if l.Kind != udiff.Insert {
			from++
		}
		if l.Kind != udiff.Delete {
			to++
		}
	}
	return kind, line
}

func content(l udiff.Line) string { return strings.TrimRight(strings.TrimSpace(l.Content), ",") }

var signs = map[udiff.OpKind]string{udiff.Insert: "+", udiff.Delete: "-", udiff.Equal: " "}

// diffPart is a kind of lines of a unified diff: how they begin, their class on a page and their color on a terminal.
type diffPart struct{ start, class, color string }

// diffParts have the longer beginnings first.
var diffParts = []diffPart{{"--- ", "file", bold}, {"+++ ", "file", bold}, {"@@", "hunk", cyan}, {"+", "added", green}, {"-", "removed", red}, {"", "same", ""}}

func diffPartOf(line string) diffPart {
	part, _ := lists.Find(diffParts, func(p diffPart) bool { return strings.HasPrefix(line, p.start) })
	return part
}

// WriteDiff writes a diff with colours.
func WriteDiff(w io.Writer, p Palette, diff string) {
	for line := range strings.Lines(diff) {
		body := strings.TrimSuffix(line, "\n")
		io.WriteString(w, p.paint(diffPartOf(line).color, body)+line[len(body):])
	}
}

// Ends is what became of files that end together, and of the clusters in them.
type Ends struct {
	Notes    []string
	Files    []string // what became of each that was changed
	Clusters []Outcome
	Errs     []error
}

// End shows what became of files.
func (c *Collector) End(e Ends) {
	for _, note := range e.Notes {
		fmt.Fprintln(c.Err, note)
	}
	for _, what := range e.Files {
		c.files = counting(c.files, Outcome{What: what})
	}
	for _, o := range e.Clusters {
		c.Became(o)
	}
	for _, err := range e.Errs {
		c.Fail(err)
	}
}

// Applied is what became of a cluster to which stages were applied, or whose stages were undone.
type Applied struct {
	Findings [][]transform.Finding
	Cautions []string // about stages that are undone
	Manual   []plan.Step
	Open     bool                // manual stages, and no edit
	Accepted []transform.Finding // about a live cluster
	Diffs    []string            // of a dry run
	Warnings []string            // of the API server
	Became   Outcome
	Live     bool
	Ends
}

// Applied shows what became of a cluster: of a live one in a line of its own.
func (c *Collector) Applied(a Applied) {
	for _, found := range a.Findings {
		WriteFindings(c.Err, c.ErrPalette, found, "")
	}
	for _, caution := range a.Cautions {
		fmt.Fprintln(c.Err, c.ErrPalette.Wrap("caution: "+caution, ""))
	}
	for _, s := range a.Manual {
		writeManual(c.Err, c.ErrPalette, s)
	}
	if a.Open {
		c.Code = max(c.Code, transform.ExitFound)
	}
	WriteFindings(c.Err, c.ErrPalette, a.Accepted, "")
	c.WriteDiffs(a.Diffs)
	for _, warning := range a.Warnings {
		fmt.Fprintln(c.Err, warning)
	}
	if a.Live && a.Became != (Outcome{}) {
		fmt.Fprintln(c.Err, a.Became)
	} else {
		c.Became(a.Became)
	}
	c.End(a.Ends)
}

// WriteDiffs writes the diffs of a dry run.
func (c *Collector) WriteDiffs(diffs []string) {
	for _, d := range diffs {
		WriteDiff(c.Out, c.Palette, d)
	}
}

// WriteAfter writes how to check what was changed, and the states of the clusters with the next command.
func (c *Collector) WriteAfter(s States, undone bool) {
	before, how, line := "before the next stage", "commit, roll out", "  "
	if s.Live != "" {
		how = "wait for the rollout"
	}
	next := s.Alone && s.Of[0].Next != ""
	if undone || s.Alone && !next {
		if before = "now"; s.Alone {
			line = "next: "
		}
	}
	if s.Check != "" {
		fmt.Fprintf(c.Err, "%s: %s, and check it:\n%s%s %s\n", before, how, line, s.Check, action.Words(c.Reach(s.Live)...))
	}
	if c.WriteStates(s); next && !undone {
		c.WriteNext(c.Err, c.ErrPalette)
	}
}

// Checked is what was found in a cluster, and what became of its fixes.
type Checked struct {
	Found []Subject
	Diffs []string // of a dry run
	Err   error
	Code  int // of a refusal that was found
	Ends
}

// Checked shows what was found in a cluster.
func (c *Collector) Checked(r Checked) {
	for _, s := range r.Found {
		c.Show(s)
	}
	c.WriteDiffs(r.Diffs)
	c.Fail(r.Err)
	c.Code = max(c.Code, r.Code)
	c.End(r.Ends)
}
