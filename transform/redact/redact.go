// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact keeps secrets out of everything that is shown.
//
// Invariant: what is shown of a document is its redacted text. A secret is
// known by the name of its key, by the kind of the manifest that holds it, or
// by its own shape, in values, embedded manifests and comments alike. Lines are
// kept one by one, so that line numbers and diffs still fit. Files that are
// written never pass through here.
package redact

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Mark stands where a secret stood.
const Mark = "<redacted>"

// Document returns the text of a document without its secrets.
func Document(d *yamledit.Document) []byte {
	splices := secrets(d)
	text := d.Bytes()
	for _, span := range shapes(text) {
		splices = append(splices, cover(text, span[0], span[1]))
	}
	out, err := yamledit.Apply(text, disjoint(splices))
	if err != nil { // not reached: disjoint puts them in order
		return bytes.Repeat([]byte(Mark+"\n"), yamledit.CountLines(text))
	}
	return out
}

// Value returns a configuration value without secrets: a string, or what
// strings a list or mapping holds.
func Value(key string, v any) any {
	switch v := v.(type) {
	case string:
		if v != "" && (secretKey(key) || key == cloudConfig && !strings.HasPrefix(v, "secret://")) {
			return Mark
		}
		return Text(v)
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = Value(key, m)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, m := range v {
			out[k] = Value(k, m)
		}
		return out
	}
	return v
}

// Text returns free text without what looks like a secret.
func Text(s string) string {
	text := []byte(s)
	var splices []yamledit.Splice
	for _, span := range shapes(text) {
		splices = append(splices, cover(text, span[0], span[1]))
	}
	out, err := yamledit.Apply(text, disjoint(splices))
	if err != nil {
		return Mark
	}
	return string(out)
}

// cloudConfig holds a provider's configuration, credentials included.
const cloudConfig = "cloud-provider-config"

// secrets walks over a document and returns splices that hide its secrets.
func secrets(d *yamledit.Document) []yamledit.Splice {
	w := walker{doc: d}
	if d.Root().Exists() {
		kind, _ := d.Root().Get("kind").String()
		w.node(d.Root(), kind == "Secret")
	}
	return w.splices
}

type walker struct {
	doc     *yamledit.Document
	splices []yamledit.Splice
}

// node hides the secrets in n; manifest says that n is a Secret, all of whose
// data is secret.
func (w *walker) node(n yamledit.Node, manifest bool) {
	if n.IsScalar() {
		w.scalar(n)
		return
	}
	if name, ok := n.Get("name").String(); ok && secretKey(name) {
		w.hide(n.Get("value")) // an environment variable
	}
	for _, c := range n.Children() {
		switch key := c.Key(); {
		case secretKey(key), manifest && (key == "data" || key == "stringData"), key == cloudConfig:
			w.hide(c)
		default:
			w.node(c, false)
		}
	}
}

// hide covers every scalar in n.
func (w *walker) hide(n yamledit.Node) {
	for _, c := range n.Children() {
		w.hide(c)
	}
	if !n.IsScalar() {
		return
	}
	switch v := n.Value().(type) {
	case nil, bool:
		return
	case string:
		if v == "" || strings.HasPrefix(v, "secret://") {
			return
		}
	}
	start, end := n.Span()
	w.splices = append(w.splices, w.coverScalar(n, start, end))
}

// coverScalar keeps quotes and the header of a block scalar.
func (w *walker) coverScalar(n yamledit.Node, start, end int) yamledit.Splice {
	text := w.doc.Bytes()
	if i := bytes.IndexAny(text[start:end], "\r\n"); i >= 0 && (text[start] == '|' || text[start] == '>') {
		return cover(text, start+i, end)
	}
	if q := text[start]; end-start >= 2 && (q == '"' || q == '\'') {
		return cover(text, start+1, end-1)
	}
	return cover(text, start, end)
}

// scalar looks for manifests in a string.
func (w *walker) scalar(n yamledit.Node) {
	text, ok := n.String()
	if !ok || !strings.Contains(text, ":") || !strings.ContainsAny(text, "\n{") {
		return
	}
	in, err := n.Embedded()
	if err != nil {
		return // no YAML; its shapes are covered as text
	}
	var inner []yamledit.Splice
	for _, d := range in.Documents() {
		for _, s := range secrets(d) {
			s.Start += d.Chunk().Offset
			s.End += d.Chunk().Offset
			inner = append(inner, s)
		}
	}
	if len(inner) == 0 {
		return
	}
	outer, err := in.Outer(disjoint(inner))
	if err != nil { // folded, or quoted over several lines
		start, end := n.Span()
		outer = []yamledit.Splice{w.coverScalar(n, start, end)}
	}
	w.splices = append(w.splices, outer...)
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
func disjoint(splices []yamledit.Splice) []yamledit.Splice {
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
				out = append(out, yamledit.Splice{Start: out[n-1].End, End: s.End, New: breaks(s.New)})
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// breaks keeps only the line breaks of a replacement.
func breaks(s string) string {
	return strings.Repeat("\n", strings.Count(s, "\n"))
}
