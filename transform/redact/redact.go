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
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Mark stands where a secret stood.
const Mark = "<redacted>"

// Document returns the text of a document without its secrets.
func Document(d *yamledit.Document) []byte {
	text := d.Bytes()
	splices := append(secrets(d), covers(text, append(shapes(text), comments(text)...))...)
	return applied(text, splices)
}

// Value returns a configuration value without secrets: a string, or what
// strings a list or mapping holds.
func Value(key string, v any) any {
	switch v := v.(type) {
	case string:
		if v != "" && !harmless(v) && (secretKey(key) || key == cloudConfig) {
			return Mark
		}
		return inline(v)
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

// inline redacts a string: a file in YAML as a document, all else as text.
func inline(s string) string {
	if strings.Contains(s, "\n") {
		d, err := yamledit.ParseString("", s)
		switch {
		case errors.Is(err, yamledit.ErrTooDeep): // nobody looked into it
			return cover([]byte(s), 0, len(s)).New
		case err == nil && d.Root().Len() > 0:
			return string(Document(d))
		}
	}
	return Text(s)
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

func covers(text []byte, spans []span) []yamledit.Splice {
	splices := make([]yamledit.Splice, len(spans))
	for i, s := range spans {
		splices[i] = cover(text, s.start, s.end)
	}
	return splices
}

// applied hides what the splices cover.
func applied(text []byte, splices []yamledit.Splice) []byte {
	out, err := yamledit.Apply(text, disjoint(splices))
	if err != nil { // not reached: disjoint puts them in order
		return bytes.Repeat([]byte(Mark+"\n"), yamledit.CountLines(text))
	}
	return out
}

// cloudConfig holds a provider's configuration, credentials included.
const cloudConfig = "cloud-provider-config"

// secrets walks over a document and returns splices that hide its secrets.
func secrets(d *yamledit.Document) []yamledit.Splice {
	w := walker{doc: d}
	if d.Root().Exists() {
		w.node(d.Root())
	}
	return w.splices
}

type walker struct {
	doc     *yamledit.Document
	splices []yamledit.Splice
}

// node hides the secrets in n.
func (w *walker) node(n yamledit.Node) {
	if n.IsScalar() {
		w.scalar(n)
		return
	}
	if name, ok := n.Get("name").String(); ok && secretKey(name) {
		w.hide(n.Get("value")) // an environment variable
	}
	if key, ok := n.Get("key").String(); ok && secretKey(key) {
		w.hide(n.Get("value"))  // a taint
		w.hide(n.Get("values")) // a part of a selector
	}
	kind, _ := n.Get("kind").String()
	for i, c := range n.Children() {
		switch key := c.Key(); {
		case n.IsList() && i > 0 && announces(n.Items()[i-1]):
			w.hide(c)
		case kind == "Secret" && (key == "data" || key == "stringData"), key == cloudConfig:
			w.hide(c)
		case secretKey(key) && !c.Get("secretName").Exists(): // a volume only names a Secret
			w.hide(c)
		default:
			w.node(c)
		}
	}
}

// announces reports whether an item is a flag whose value, a secret, is the next
// item.
func announces(n yamledit.Node) bool {
	text, _ := n.String()
	name, isFlag := strings.CutPrefix(text, "--")
	return isFlag && !strings.ContainsAny(name, "= ") && secretKey(name)
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
		if harmless(v) {
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

// scalar looks into a string: for manifests, for lines that assign a secret, and
// for an argument whose value is one.
func (w *walker) scalar(n yamledit.Node) {
	text, ok := n.String()
	if !ok || text == "" {
		return
	}
	if !strings.Contains(text, "\n") {
		w.argument(n)
		return
	}
	in, err := n.Embedded()
	var inner []yamledit.Splice
	switch {
	case errors.Is(err, yamledit.ErrTooDeep): // nobody looked into it
		w.hide(n)
		return
	case err != nil:
		inner = covers([]byte(text), freeText([]byte(text)))
	default:
		inner = embedded(in)
	}
	if len(inner) == 0 {
		return
	}
	outer, err := n.Outer(disjoint(inner))
	if err != nil { // folded, or quoted over several lines
		start, end := n.Span()
		outer = []yamledit.Splice{w.coverScalar(n, start, end)}
	}
	w.splices = append(w.splices, outer...)
}

// embedded returns splices of a stream that hide its secrets. A document that is
// no mapping is text.
func embedded(in *yamledit.Embedded) []yamledit.Splice {
	var all []yamledit.Splice
	for _, d := range in.Documents() {
		var splices []yamledit.Splice
		if d.Root().IsMap() || d.Root().IsList() {
			splices = append(secrets(d), covers(d.Bytes(), comments(d.Bytes()))...)
		} else {
			// Never looked into as a document: a text may be its own only string.
			splices = covers(d.Bytes(), freeText(d.Bytes()))
		}
		for _, s := range splices {
			s.Start += d.Chunk().Offset
			s.End += d.Chunk().Offset
			all = append(all, s)
		}
	}
	return all
}

// argument hides the value in NAME=VALUE, up to the end of the scalar.
func (w *walker) argument(n yamledit.Node) {
	start, end := n.Span()
	raw := w.doc.Bytes()[start:end]
	if q := raw[0]; len(raw) >= 2 && (q == '"' || q == '\'') {
		start, end, raw = start+1, end-1, raw[1:len(raw)-1]
	}
	if s, found := assigned(raw); found {
		w.splices = append(w.splices, cover(w.doc.Bytes(), start+s.start, end))
	}
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
