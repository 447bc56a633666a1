// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact keeps secrets out of everything that is shown.
//
// Invariant: what is shown of a document is its redacted text. A secret is
// known by the name of its key, by the kind of the manifest that holds it, or
// by its own shape, in values, embedded manifests and comments alike. Lines are
// kept one by one, so that line numbers and diffs still fit. Files that are
// written never pass through here. The work grows with the text, not with its
// square.
package redact

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Mark replaces a secret.
const Mark = "<redacted>"

// Document returns the text of a document without its secrets.
func Document(d *yamledit.Document) string { return Lines(d, 0, len(d.Bytes())) }

// Lines returns lines of Document: those that are from the offset start up to end in the document, both where a line
// starts or the text ends.
func Lines(d *yamledit.Document, start, end int) string {
	text := d.Bytes()
	shown := applied(text, secretsAndShapes(d, span{start, end}))
	from := afterLines(shown, bytes.Count(text[:start], newline)) // what hides a secret keeps its line breaks
	if end == len(text) {
		return string(shown[from:])
	}
	return string(shown[from : from+afterLines(shown[from:], bytes.Count(text[start:end], newline))])
}

// afterLines returns the offset after the first n lines.
func afterLines(text []byte, n int) (at int) {
	for range n {
		at = lineEnd(text, at)
	}
	return at
}

// secretsAndShapes returns splices for all secrets in a range of whole lines of a document; some hide more. Other lines
// are read where what hides a secret reaches them, or where a secret may have several.
func secretsAndShapes(d *yamledit.Document, in span) []yamledit.Splice {
	text := d.Bytes()
	if slices.ContainsFunc(several, func(mark []byte) bool { return bytes.Contains(text, mark) }) {
		in = span{0, len(text)}
	}
	found, wide := secretsIn(d, in)
	if wide == in {
		return found
	}
	found, in = secretsIn(d, wide)
	if in != wide { // each line may reach the next one
		found, _ = secretsIn(d, span{0, len(text)})
	}
	return found
}

// secretsIn returns the splices of a range, and the range with the lines that they reach.
func secretsIn(d *yamledit.Document, in span) (found []yamledit.Splice, wide span) {
	text := d.Bytes()
	found, wide = append(secrets(d, in), covers(text, append(shapes(text, in), comments(text, in)...))...), in
	for _, s := range found {
		if s.Start < in.end && s.End > in.start {
			wide = span{min(wide.start, lineStart(text, s.Start)), max(wide.end, lineEnd(text, s.End-1))}
		}
	}
	return found, wide
}

// several are the marks of secrets that have more than one line by their own form: keys and elements of XML.
var several = [][]byte{[]byte("PRIVATE KEY"), []byte("Static key"), []byte("PuTTY-User-Key-File-"), []byte("</")}

// Value returns a configuration value without secrets: a string, or what
// strings a list or mapping holds. It is read as a document with this one key.
func Value(key string, v any) any {
	switch v.(type) {
	case nil, bool:
		return v
	case int, int64, float64:
		if !secretKey(key) {
			return v
		}
	}
	text, err := json.Marshal(map[string]any{key: v})
	if err != nil {
		return Mark
	}
	d, err := yamledit.ParseString("", string(text))
	if err != nil {
		return Mark // no one can look into it
	}
	out := Document(d)
	if out == string(text) {
		return v
	}
	if d, err = yamledit.ParseString("", out); err != nil {
		return Mark
	}
	return d.Root().Children()[0].Value()
}

// Text returns free text without what looks like a secret.
func Text(s string) string {
	text := []byte(s)
	return string(applied(text, covers(text, freeText(text))))
}

// requirement is one part of a label selector, as Kubernetes prints it.
var requirement = regexp.MustCompile(`([A-Za-z0-9][A-Za-z0-9_./-]*)( in | notin |=|!=)(\([^)]*\)|[^,\s]+)`)

// Selector returns a printed label selector without the values of labels that
// are named like a secret.
func Selector(s string) string {
	s = requirement.ReplaceAllStringFunc(s, func(r string) string {
		m := requirement.FindStringSubmatch(r)
		if secretKey(m[1]) {
			return m[1] + m[2] + Mark
		}
		return r
	})
	return Text(s)
}

// counted gets how many bytes were looked at; nil but in a test, which proves that
// the work grows with a text and not with its square.
var counted func(bytes int)

func count(bytes int) {
	if counted != nil {
		counted(bytes)
	}
}

func covers(text []byte, spans []span) []yamledit.Splice {
	return lists.Map(spans, func(s span) yamledit.Splice { return cover(text, s.start, s.end) })
}

// applied hides what the splices cover.
func applied(text []byte, splices []yamledit.Splice) []byte {
	out, err := yamledit.Apply(text, disjoint(text, splices))
	if err != nil { // not reached: disjoint puts them in order
		return bytes.Repeat([]byte(Mark+"\n"), yamledit.CountLines(text))
	}
	return out
}

// cover hides [start, end) of a text, line by line.
func cover(text []byte, start, end int) yamledit.Splice {
	var out strings.Builder
	for i, line := range strings.SplitAfter(string(text[start:end]), "\n") {
		body := strings.TrimRight(line, "\r\n")
		if i > 0 || strings.TrimSpace(body) == "" {
			out.WriteString(body[:len(body)-len(strings.TrimLeft(body, " \t"))])
		}
		if strings.TrimSpace(body) != "" {
			out.WriteString(Mark)
		}
		out.WriteString(line[len(body):])
	}
	return yamledit.Splice{Start: start, End: end, New: out.String()}
}

// disjoint sorts splices and drops those that lie in or reach into another.
func disjoint(text []byte, splices []yamledit.Splice) []yamledit.Splice {
	slices.SortFunc(splices, func(a, b yamledit.Splice) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	var out []yamledit.Splice
	for _, s := range splices {
		if n := len(out); n > 0 && s.Start < out[n-1].End {
			if s.End > out[n-1].End { // what sticks out is secret as well
				out = append(out, yamledit.Splice{Start: out[n-1].End, End: s.End, New: strings.Repeat("\n", bytes.Count(text[out[n-1].End:s.End], newline))})
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
