// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The parser says where a node starts and never where it ends. This file
// derives the ends: from quotes, from brackets, from the indentation of block
// scalars, and for block collections from their last descendant. A wrong guess
// does no harm: the proof after the splice refuses it.

// start returns the offset of n, its tag or anchor included.
func (d *Document) start(n *yaml.Node) int { return d.lines().offset(n.Line, n.Column) }

// contentStart returns the offset of n after its tag and anchor.
func (d *Document) contentStart(n *yaml.Node) int {
	end := d.propertiesEnd(n)
	switch {
	case end == d.start(n):
		return end
	case n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0:
		return end // a null that is left out
	}
	if i := skipSeparators(d.Bytes(), end); i < len(d.Bytes()) {
		return i
	}
	return end
}

// propertiesEnd returns the offset after the tag and the anchor of n, or its start.
func (d *Document) propertiesEnd(n *yaml.Node) int {
	src, i := d.Bytes(), d.start(n)
	if n.Kind == yaml.AliasNode || n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 {
		return i
	}
	end := i
	for i < len(src) && (src[i] == '!' || src[i] == '&') {
		for i < len(src) && !isSpace(src[i:]) {
			i++
		}
		end = i
		i = skipSeparators(src, i)
	}
	return end
}

// anchorEnd returns where a new value of n starts: after its anchor, which stays.
// A tag goes with the value that it is about.
func (d *Document) anchorEnd(n *yaml.Node) int {
	if n.Anchor == "" || n.Style&yaml.TaggedStyle != 0 {
		return d.start(n)
	}
	return d.contentStart(n)
}

// end returns the offset after the last byte of n, its line break excluded.
func (d *Document) end(n *yaml.Node) int {
	switch n.Kind {
	case yaml.AliasNode:
		return d.start(n) + 1 + len(n.Value)
	case yaml.ScalarNode:
		return d.scalarEnd(n)
	}
	if d.isFlow(n) {
		return d.flowEnd(n)
	}
	return d.memberEnd(n, lengthOf(n)-1)
}

// memberEnd returns the end of entry or item i of a collection.
func (d *Document) memberEnd(n *yaml.Node, i int) int {
	if n.Kind == yaml.MappingNode {
		return d.entryEnd(n, i)
	}
	return d.itemEnd(n, i)
}

func (d *Document) isFlow(n *yaml.Node) bool {
	i := d.contentStart(n)
	return i < len(d.Bytes()) && (d.Bytes()[i] == '{' || d.Bytes()[i] == '[') && n.Style&yaml.FlowStyle != 0
}

// entryEnd returns the end of entry i of mapping m.
func (d *Document) entryEnd(m *yaml.Node, i int) int {
	v := m.Content[2*i+1]
	if hasText(v) {
		return d.end(v)
	}
	return d.afterColon(m.Content[2*i])
}

// afterColon returns the offset after the colon that follows key k, or after
// k in a flow mapping that omits it.
func (d *Document) afterColon(k *yaml.Node) int {
	end := d.end(k)
	if i := skipBlank(d.Bytes(), end); i < len(d.Bytes()) && d.Bytes()[i] == ':' {
		return i + 1
	}
	return end
}

// itemEnd returns the end of item i of list s.
func (d *Document) itemEnd(s *yaml.Node, i int) int {
	if v := s.Content[i]; hasText(v) {
		return d.end(v)
	}
	if dashes := d.dashes(s); i < len(dashes) {
		return dashes[i] + 1
	}
	return d.start(s)
}

// hasText reports whether a node has bytes of its own; a null that is left out
// has none, and the parser's position for it means nothing.
func hasText(n *yaml.Node) bool {
	return n.Kind != yaml.ScalarNode || n.Value != "" || n.Style != 0 || n.Anchor != ""
}

func (d *Document) scalarEnd(n *yaml.Node) int {
	src, i := d.Bytes(), d.contentStart(n)
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i++; i < len(src) && src[i] != '"'; i++ {
			if src[i] == '\\' {
				i++
			}
		}
		return min(i+1, len(src))
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i++; i < len(src); i++ {
			if src[i] != '\'' {
				continue
			}
			if i+1 == len(src) || src[i+1] != '\'' {
				return i + 1
			}
			i++
		}
		return len(src)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		b := d.block(n)
		return d.lines().end(b.last)
	}
	return plainEnd(src, i, n.Value)
}

// plainEnd walks over a plain scalar. Folding changes only white space, so the
// end is after the last other character of its value.
func plainEnd(src []byte, i int, value string) int {
	end := i
	for _, want := range value {
		if unicode.IsSpace(want) {
			continue
		}
		for i < len(src) {
			r, n := utf8.DecodeRune(src[i:])
			i += n
			if r == want {
				end = i
				break
			}
		}
	}
	return end
}

// blockText is where the content of a block scalar is.
type blockText struct {
	header, first, last int // 0-based lines; last < first without content
	indent              int // spaces in front of every content line
}

// block finds the content lines of a literal or folded scalar.
func (d *Document) block(n *yaml.Node) blockText {
	ix := d.lines()
	b := blockText{header: ix.of(d.contentStart(n))}
	b.first, b.last = b.header+1, b.header
	b.indent = d.blockIndent(n, b.first)
	if n.Style&yaml.LiteralStyle != 0 {
		b.last = min(b.header+valueLines(n.Value), ix.count()-1)
		return b
	}
	for l := b.first; l < ix.count(); l++ {
		spaces, blank := ix.indent(l)
		if !blank && spaces < b.indent {
			break
		}
		if !blank {
			b.last = l
		}
	}
	return b
}

// valueLines returns how many lines a literal scalar of this value has.
func valueLines(v string) int {
	n := CountLines([]byte(v))
	if v != "" && (n == 0 || !endsWithBreak([]byte(v))) {
		n++
	}
	return n
}

func endsWithBreak(v []byte) bool {
	for n := 1; n <= 3 && n <= len(v); n++ {
		if breakLen(v[len(v)-n:]) == n {
			return true
		}
	}
	return false
}

// blockIndent compares the first line that is not blank with the same line of
// the value; an indentation indicator then needs no thought.
func (d *Document) blockIndent(n *yaml.Node, first int) int {
	ix := d.lines()
	for l := first; l < ix.count(); l++ {
		spaces, blank := ix.indent(l)
		if blank {
			continue
		}
		v := bytes.TrimLeft([]byte(n.Value), "\n")
		for i := bytes.IndexByte(v, '\n'); i >= 0 && len(bytes.TrimLeft(v[:i], " \t")) == 0; i = bytes.IndexByte(v, '\n') {
			v = v[i+1:]
		}
		own := len(v) - len(bytes.TrimLeft(v, " "))
		return max(spaces-own, 0)
	}
	return 0
}

// flowEnd returns the offset after the closing bracket of a flow collection.
func (d *Document) flowEnd(n *yaml.Node) int {
	i := d.contentStart(n) + 1
	if len(n.Content) > 0 {
		i = d.memberEnd(n, lengthOf(n)-1)
	}
	src := d.Bytes()
	for i = skipSeparators(src, i); i < len(src) && src[i] == ','; {
		i = skipSeparators(src, i+1)
	}
	return min(i+1, len(src))
}

// memberStart returns the start of entry or item i of a flow collection.
func (d *Document) memberStart(n *yaml.Node, i int) int {
	key, value := memberAt(n, i)
	if key != nil {
		return d.start(key)
	}
	return d.start(value)
}

// dashes returns the offsets of the dashes of a block list, one per item, or
// nil when the layout is not understood.
func (d *Document) dashes(s *yaml.Node) []int {
	return Derive(d, dashed{s}, func() []int { return d.findDashes(s) })
}

type dashed struct{ list *yaml.Node }

func (d *Document) findDashes(s *yaml.Node) []int {
	ix, first := d.lines(), d.contentStart(s)
	if first >= len(d.Bytes()) || d.Bytes()[first] != '-' {
		return nil
	}
	column := ix.column(first)
	out := append(make([]int, 0, len(s.Content)), first)
	for l := ix.of(first) + 1; l < ix.count() && len(out) < len(s.Content); l++ {
		spaces, blank := ix.indent(l)
		if blank || spaces > column || ix.text(l)[spaces] == '#' {
			continue
		}
		if spaces < column || !isDash(ix.text(l)[spaces:]) {
			return nil
		}
		out = append(out, ix.start(l)+spaces)
	}
	if len(out) != len(s.Content) {
		return nil
	}
	return out
}

func isDash(b []byte) bool { return b[0] == '-' && (len(b) == 1 || isSpace(b[1:])) }

func isSpace(b []byte) bool {
	return len(b) == 0 || b[0] == ' ' || b[0] == '\t' || breakLen(b) > 0
}

// skipBlank moves over spaces and tabs.
func skipBlank(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\t') {
		i++
	}
	return i
}

// skipSeparators moves over blanks, line breaks and comments.
func skipSeparators(src []byte, i int) int {
	for i < len(src) {
		switch n := breakLen(src[i:]); {
		case n > 0:
			i += n
		case src[i] == ' ' || src[i] == '\t':
			i++
		case src[i] == '#' && (i == 0 || isSpace(src[i-1:i])):
			for i < len(src) && breakLen(src[i:]) == 0 {
				i++
			}
		default:
			return i
		}
	}
	return i
}
