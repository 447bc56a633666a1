// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Diff returns the unified diff of two states of a document, without its
// secrets, with the line numbers of the file. It is for review: a context line
// with a secret does not apply.
func Diff(before, after *yamledit.Document) string { return shown{}.diff(before, after) }

// shown keeps the redacted texts of documents, for each but the first and the last
// of a plan is in two diffs.
type shown map[*yamledit.Document]string

func (s shown) text(d *yamledit.Document) string {
	text, known := s[d]
	if !known {
		text = string(redact.Document(d))
		if d.Chunk().Served {
			text = unfolded(text)
		}
		s[d] = text
	}
	return text
}

func (s shown) diff(before, after *yamledit.Document) string {
	return Unified(strings.TrimPrefix(before.File(), "/"), s.text(before), s.text(after), before.Chunk().Line)
}

// Unified returns the unified diff of two states of a text, which is in a file after a
// number of lines; "" where they are equal.
func Unified(file, old, now string, after int) string {
	u, err := udiff.ToUnifiedDiff("a/"+file, "b/"+file, old, udiff.Lines(old, now), udiff.DefaultContextLines)
	if err != nil || len(u.Hunks) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", u.From, u.To)
	grown := 0 // what the hunks before one add; the library loses count of it
	for _, h := range u.Hunks {
		h.ToLine = h.FromLine + grown
		grown += hunk(&b, h, after)
	}
	return b.String()
}

// hunk writes one hunk of a text that is in its file after a number of lines,
// and returns how many lines it adds.
func hunk(b *strings.Builder, h *udiff.Hunk, offset int) (grown int) {
	from, to := 0, 0
	for _, l := range h.Lines {
		if l.Kind != udiff.Insert {
			from++
		}
		if l.Kind != udiff.Delete {
			to++
		}
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", h.FromLine+offset, from, h.ToLine+offset, to)
	for _, l := range h.Lines {
		b.WriteString(sign(l.Kind))
		b.WriteString(strings.TrimSuffix(l.Content, "\n"))
		b.WriteByte('\n')
		if !strings.HasSuffix(l.Content, "\n") {
			b.WriteString("\\ No newline at end of file\n")
		}
	}
	return to - from
}

func sign(k udiff.OpKind) string {
	switch k {
	case udiff.Insert:
		return "+"
	case udiff.Delete:
		return "-"
	}
	return " "
}

// WriteDiff writes a diff with colours.
func WriteDiff(w io.Writer, p Palette, diff string) {
	for _, line := range strings.SplitAfter(diff, "\n") {
		body := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(body, "+++"), strings.HasPrefix(body, "---"):
			body = p.paint(bold, body)
		case strings.HasPrefix(body, "@@"):
			body = p.paint(cyan, body)
		case strings.HasPrefix(body, "+"):
			body = p.paint(green, body)
		case strings.HasPrefix(body, "-"):
			body = p.paint(red, body)
		}
		io.WriteString(w, body)
		if strings.HasSuffix(line, "\n") {
			io.WriteString(w, "\n")
		}
	}
}
