// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// style is how a document is written; new text follows it.
type style struct {
	eol   string // the file's own line break
	step  int    // columns from a mapping to a mapping inside it
	dash  int    // columns from a key to the dashes of its list
	width int    // columns from a dash to the content of its item
	quote byte   // for strings that need quotes
	json  bool
	blank string // JSON: what lines are indented with, a space or a tab
	colon string // JSON and flow: what follows a key
	comma string // JSON and flow: what is between two members of a line
}

// tally counts how often each number of columns is used.
type tally map[int]int

func (t tally) most(fallback int) int {
	best, seen := fallback, 0
	for v, n := range t {
		if n > seen || n == seen && v < best {
			best, seen = v, n
		}
	}
	return best
}

// detectStyle reads the style off the whole document, once.
func detectStyle(d *Document) *style {
	s := &style{eol: "\n", quote: '"', json: d.json, blank: " ", colon: ": ", comma: ", "}
	if i := bytes.IndexAny(d.Bytes(), "\r\n"); i >= 0 {
		s.eol = string(d.Bytes()[i : i+breakLen(d.Bytes()[i:])])
	}
	w := styleWalk{doc: d, step: tally{}, dash: tally{}, width: tally{}, quote: tally{}}
	if d.root != nil {
		w.node(d.root)
	}
	if d.json {
		s.jsonBlank(d)
	}
	s.step, s.width = w.step.most(s.blankStep()), w.width.most(2)
	s.dash = w.dash.most(2)
	if s.step > 2 && len(w.dash) == 0 {
		s.dash = s.step
	}
	s.quote = byte(w.quote.most('"'))
	if d.json {
		s.jsonSeparators(d)
	}
	return s
}

// blankStep is the step where nothing shows one.
func (s *style) blankStep() int {
	if s.blank == "\t" {
		return 1
	}
	return 2
}

// jsonBlank looks at the first line that is indented.
func (s *style) jsonBlank(d *Document) {
	ix := d.lines()
	for l := 1; l < ix.count(); l++ {
		switch text := ix.text(l); {
		case len(bytes.TrimLeft(text, " \t")) == 0:
		case text[0] == '\t':
			s.blank = "\t" // the parser counts a tab for one column
			return
		case text[0] == ' ':
			return
		}
	}
}

// jsonSeparators looks at the first key and the first two members.
func (s *style) jsonSeparators(d *Document) {
	for n := d.root; n != nil && len(n.Content) > 0; n = n.Content[len(n.Content)-1] {
		if n.Kind != yaml.MappingNode {
			continue
		}
		if i := d.afterColon(n.Content[0]); i < len(d.Bytes()) && d.Bytes()[i] != ' ' {
			s.colon, s.comma = ":", ","
		}
		if len(n.Content) > 2 {
			s.comma = ", "
			if i := d.memberEnd(n, 0) + 1; i < len(d.Bytes()) && !isSpace(d.Bytes()[i:]) {
				s.comma = ","
			}
			return
		}
	}
}

type styleWalk struct {
	doc                      *Document
	step, dash, width, quote tally
}

func (w *styleWalk) node(n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			w.entry(n, n.Content[i], n.Content[i+1])
			w.node(n.Content[i+1])
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if n.Style&yaml.FlowStyle == 0 && plainStart(n) && isBlock(c) && plainStart(c) {
				w.width[firstColumn(c)-n.Column]++
			}
			w.node(c)
		}
	case yaml.ScalarNode:
		switch {
		case n.Style&yaml.DoubleQuotedStyle != 0:
			w.quote['"']++
		case n.Style&yaml.SingleQuotedStyle != 0:
			w.quote['\'']++
		}
	}
}

// entry measures the step from mapping m to the collection under key k.
func (w *styleWalk) entry(m, k, v *yaml.Node) {
	if m.Style&yaml.FlowStyle != 0 && !w.doc.json || !isCollection(v) || !plainStart(v) || v.Line == k.Line && !w.doc.json || len(v.Content) == 0 {
		return
	}
	switch {
	case w.doc.json:
		if c := v.Content[0]; c.Line != v.Line {
			w.step[c.Column-k.Column]++
		}
	case v.Kind == yaml.MappingNode:
		w.step[firstColumn(v)-k.Column]++
	default:
		w.dash[v.Column-k.Column]++
	}
}

func isCollection(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode
}

func isBlock(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

// plainStart reports whether the column of n is that of its content.
func plainStart(n *yaml.Node) bool { return n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 }

func firstColumn(m *yaml.Node) int { return m.Content[0].Column }

// dashFor returns the dash offset for a new list in mapping m: that of a list
// next to it, else the document's.
func (d *Document) dashFor(m *yaml.Node) int {
	if m != nil && m.Kind == yaml.MappingNode && m.Style&yaml.FlowStyle == 0 {
		for i := 0; i+1 < len(m.Content); i += 2 {
			v := m.Content[i+1]
			if v.Kind == yaml.SequenceNode && v.Style&yaml.FlowStyle == 0 && plainStart(v) && v.Line > m.Content[i].Line {
				return v.Column - m.Content[i].Column
			}
		}
	}
	return d.style().dash
}
