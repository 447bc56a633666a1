// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// splicer turns queued changes into splices of the document's bytes.
type splicer struct {
	doc     *Document
	edit    *Edit
	splices []Splice
}

// replace queues a splice; "\n" in text becomes the file's own line break.
func (s *splicer) replace(start, end int, text string) {
	if eol := s.doc.style().eol; eol != "\n" {
		text = strings.ReplaceAll(text, "\n", eol)
	}
	s.splices = append(s.splices, Splice{start, end, text})
}

func (s *splicer) change(c *change) error {
	if c.rename != nil {
		s.rename(c)
	}
	switch {
	case c.spliced:
		return nil
	case c.set != nil:
		return s.set(c.node, c.set.value)
	case c.adopted != nil:
		return s.adopt(c)
	case len(c.insert)+len(c.remove) == 0:
		return nil
	case c.node.written() == 0 && !s.inFlow(c.node):
		return s.set(c.node, c.fresh())
	case s.doc.isFlow(c.node.y) || s.inFlow(c.node):
		return s.flow(c)
	}
	return s.block(c)
}

// fresh returns the members that are put into an empty collection.
func (c *change) fresh() any {
	if c.node.IsList() {
		return lists.Map(c.insert[0], func(in insert) any { return in.value })
	}
	return Map(lists.Map(c.insert[0], func(in insert) Pair { return Pair{in.key, in.value} }))
}

// inFlow reports whether the node is inside a flow collection.
func (s *splicer) inFlow(n Node) bool {
	if s.doc.json {
		return true
	}
	return n.parent != nil && n.parent.y.Style&yaml.FlowStyle != 0
}

func (s *splicer) rename(c *change) {
	k := c.node.key
	s.replace(s.doc.start(k), s.doc.end(k), s.scalarLike(k, *c.rename, s.inFlow(c.node)))
}

// scalarLike writes a scalar with the quotes that the old one has.
func (s *splicer) scalarLike(old *yaml.Node, v any, flow bool) string {
	str, isString := v.(string)
	switch {
	case !isString || s.doc.json:
		return JSON(v)
	case old.Style&yaml.DoubleQuotedStyle != 0:
		return quoted(str, '"')
	case old.Style&yaml.SingleQuotedStyle != 0:
		return quoted(str, '\'')
	}
	return scalarText(v, s.doc.style().quote, flow)
}

// set replaces a value.
func (s *splicer) set(n Node, v any) error {
	if s.inFlow(n) {
		return s.setFlow(n, v)
	}
	if n.key == nil {
		return s.setItem(n, v)
	}
	w := s.doc.blockWriter(n.parent.y)
	w.after(s.column(n.key), v)
	header, body, tall := strings.Cut(w.String(), "\n")
	if text, isText := v.(string); isText && tall && s.doc.swallowed(s.doc.lines().of(s.doc.end(n.at))+1, s.column(n.key)+s.doc.style().step) {
		header, body, tall = " "+quoted(text, '"'), "", false // a literal block would take what follows
	}
	switch {
	case !tall && !isCollection(n.at) && hasText(n.at) && isScalar(v):
		s.replace(s.doc.anchorEnd(n.at), s.doc.end(n.at), s.scalarLike(n.at, v, false))
		return nil
	case !tall:
		return s.setAfterKey(n, header, "")
	}
	if endsInBreak(v) && !endsWithBreak(s.doc.Bytes()) && s.doc.lines().of(s.doc.end(n.at))+1 == s.doc.lines().count() {
		body += "\n"
	}
	return s.setAfterKey(n, header, "\n"+body)
}

func isScalar(v any) bool {
	switch v.(type) {
	case Map, []any:
		return false
	}
	return true
}

// setAfterKey replaces the value of a block mapping's entry: header goes to
// the key's line, body below it, and a comment on that line stays.
func (s *splicer) setAfterKey(n Node, header, body string) error {
	colon, ix := s.doc.afterColon(n.key), s.doc.lines()
	if colon == 0 || s.doc.Bytes()[colon-1] != ':' {
		return n.Errorf("the key and its value are written in an unusual way (? key)", "write it as key: value")
	}
	from, end := colon, colon
	if hasText(n.at) {
		end = s.doc.end(n.at)
		if skipSeparators(s.doc.Bytes(), colon) > ix.end(ix.of(colon)) && bytes.IndexByte(s.doc.Bytes()[colon:s.doc.start(n.at)], '#') >= 0 {
			return n.Errorf("a comment is between the key and its value", "move the comment above the key")
		}
		if n.at.Anchor != "" && s.doc.anchorEnd(n.at) > s.doc.start(n.at) {
			from = s.doc.propertiesEnd(n.at)
		}
	}
	s.replace(from, end, header)
	if body != "" {
		lineEnd := ix.end(ix.of(end))
		s.replace(lineEnd, lineEnd, body)
	}
	return nil
}

// setItem replaces a scalar item of a block list by a scalar.
func (s *splicer) setItem(n Node, v any) error {
	if n.parent == nil || isCollection(n.at) || !hasText(n.at) || !isScalar(v) {
		return n.Errorf("only a scalar can be replaced here", "change it manually")
	}
	s.replace(s.doc.anchorEnd(n.at), s.doc.end(n.at), s.scalarLike(n.at, v, false))
	return nil
}

func (s *splicer) setFlow(n Node, v any) error {
	if !hasText(n.at) {
		return n.Errorf("the value is left out", "write null")
	}
	text := s.scalarLike(n.at, v, true)
	if !isScalar(v) {
		text = s.flowText(s.lineIndent(n), v)
	}
	s.replace(s.doc.anchorEnd(n.at), s.doc.end(n.at), text)
	return nil
}

// adopt moves the following siblings below n.
func (s *splicer) adopt(c *change) error {
	n, ix := c.node, s.doc.lines()
	if !n.IsNull() || n.key == nil || s.inFlow(n) || len(c.adopted) == 0 {
		return n.Errorf("only entries of a block mapping can be moved below a null", "indent them manually")
	}
	if hasText(n.y) {
		s.replace(s.doc.afterColon(n.key), s.doc.end(n.y), "")
	}
	p := n.parent.y
	last := s.doc.entryEnd(p, c.adopted[len(c.adopted)-1].index)
	pad := strings.Repeat(" ", s.doc.style().step)
	for l := ix.of(s.doc.start(n.key)) + 1; l <= ix.of(last); l++ {
		if _, blank := ix.indent(l); !blank {
			s.replace(ix.start(l), ix.start(l), pad)
		}
	}
	return nil
}

// column returns the 0-based column of a node, in runes.
func (s *splicer) column(n *yaml.Node) int { return n.Column - 1 }

// lineIndent returns the indentation of the line on which a member starts.
func (s *splicer) lineIndent(n Node) int {
	at := n.at
	if n.key != nil {
		at = n.key
	}
	line := s.doc.lines().text(at.Line - 1)
	return len(line) - len(bytes.TrimLeft(line, s.doc.style().blank))
}

// strip gives a block scalar that has text the indicator "-".
func (s *splicer) strip(n *yaml.Node) {
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 || n.Value == "" {
		return
	}
	from := s.doc.contentStart(n)
	indicators, _, _ := bytes.Cut(s.doc.Bytes()[from:s.doc.lines().end(s.doc.lines().of(from))], []byte(" "))
	switch i := bytes.IndexAny(indicators, "+-"); {
	case i < 0:
		s.replace(from+1, from+1, "-")
	case indicators[i] == '+':
		s.replace(from+i, from+i+1, "-")
	}
}

func (s *splicer) flowText(column int, v any) string {
	w := flowWriter{style: s.doc.style(), lines: s.doc.json && s.doc.lines().count() > 2}
	w.at(column, v)
	return w.String()
}

// sortedPlace returns the index at which key keeps a mapping of three or more
// sorted keys sorted.
func sortedPlace(m Node, key string) (int, bool) {
	if m.IsMap() && mergeKey(m.y) != nil {
		return 0, false // indexes count what is written
	}
	es := m.Entries()
	byKey := func(a, b Entry) int { return strings.Compare(a.Key, b.Key) }
	if len(es) < 3 || !slices.IsSortedFunc(es, byKey) {
		return 0, false
	}
	i, _ := slices.BinarySearchFunc(es, Entry{Key: key}, byKey)
	return i, true
}

// clearOfComments returns the last index up to i in front of which a literal
// block can be written without taking in what follows: a comment that is indented like
// its text, or a line of more blanks than that.
func (d *Document) clearOfComments(m Node, i int) int {
	if !m.IsMap() || m.written() == 0 || m.y.Style&yaml.FlowStyle != 0 {
		return i
	}
	textColumn := m.y.Content[0].Column - 1 + d.style().step
	for at := i; at > 0; at-- {
		if !d.swallowed(d.lines().of(d.entryEnd(m.y, at-1))+1, textColumn) {
			return at
		}
	}
	if m.key != nil && m.y.Content[0].Line > m.key.Line && !d.swallowed(d.lines().of(d.afterColon(m.key))+1, textColumn) {
		return 0
	}
	return i
}

// swallowed reports whether a literal block with text in a column would take a
// comment, or blanks, from line l on for its own.
func (d *Document) swallowed(l, column int) bool {
	for ix := d.lines(); l < ix.count(); l++ {
		spaces, blank := ix.indent(l)
		switch {
		case !blank:
			return spaces >= column && ix.text(l)[spaces] == '#'
		case spaces > column:
			return true
		}
	}
	return false
}
