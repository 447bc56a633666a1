// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"errors"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// scalar looks into a string: for manifests, for lines that assign a secret, and
// for an argument whose value is one.
func (w *walker) scalar(n yamledit.Node, key string) {
	text, ok := n.String()
	if !ok || text == "" {
		return
	}
	if passwordLike(text) || n.Key() != "" && hexKey(key, text) {
		w.cover(n)
		return
	}
	if strings.Contains(text, "\n") || structured(text) {
		in, err := n.Embedded()
		if err == nil {
			w.inside(n, embedded(in))
			return
		}
		if errors.Is(err, yamledit.ErrTooDeep) { // no one looked into it
			w.cover(n)
			return
		}
	}
	w.inside(n, covers([]byte(text), w.within(n, text)))
	w.folded(n, text)
}

// folded reads the lines of a string that are joined to one.
func (w *walker) folded(n yamledit.Node, text string) {
	start, end := n.Span()
	raw := w.doc.Bytes()[start:end]
	if bytes.Count(raw, []byte("\n")) <= strings.Count(text, "\n")+1 {
		return
	}
	for _, s := range assignments(raw, false) {
		w.splices = append(w.splices, cover(w.doc.Bytes(), start+s.start, start+s.end))
	}
}

// within returns the secrets in the text of a string. Where the text is in the
// document unchanged, shapes are looked for in the document.
func (w *walker) within(n yamledit.Node, text string) []span {
	start, end := n.Span()
	raw := w.doc.Bytes()[start:end]
	if bytes.Contains(raw, []byte(text)) {
		return assignments([]byte(text), false)
	}
	return freeText([]byte(text))
}

// structured reports whether a text on one line may be JSON or a mapping.
func structured(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return len(text) > 4 && (text[0] == '{' || text[0] == '[') && strings.ContainsAny(text, `:,`) || strings.HasPrefix(text, "--- ")
}

// inside hides parts of a string.
func (w *walker) inside(n yamledit.Node, inner []yamledit.Splice) {
	if len(inner) == 0 {
		return
	}
	text, _ := n.String()
	inner = disjoint([]byte(text), inner)
	if outer, err := n.Outer(inner); err == nil {
		w.splices = append(w.splices, outer...)
		return
	}
	start, end := n.Span()
	if string(w.doc.Bytes()[start:end]) != text { // folded, or quoted over several lines
		w.splices = append(w.splices, w.coverScalar(start, end))
		return
	}
	for _, s := range inner {
		w.splices = append(w.splices, yamledit.Splice{Start: start + s.Start, End: start + s.End, New: s.New})
	}
}

// embedded returns splices of a stream that hide its secrets.
func embedded(in *yamledit.Embedded) []yamledit.Splice {
	var all []yamledit.Splice
	for _, d := range in.Documents() {
		for _, s := range inString(d) {
			s.Start += d.Chunk().Offset
			s.End += d.Chunk().Offset
			all = append(all, s)
		}
	}
	return all
}

// inString returns the splices that hide the secrets of a document in a string, which
// follow from its text alone. One that is no mapping and no list is text: as a document
// it may be its own only string.
func inString(d *yamledit.Document) []yamledit.Splice {
	type hidden []yamledit.Splice
	return yamledit.Recall(d, d.Bytes(), func() hidden {
		if d.Root().IsMap() || d.Root().IsList() {
			return secretsAndShapes(d, span{0, len(d.Bytes())})
		}
		return covers(d.Bytes(), freeText(d.Bytes()))
	})
}
