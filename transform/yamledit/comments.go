// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// comment is a comment of a document, or of the YAML in one of its strings. The
// text of other scalars holds none, whatever it looks like.
type comment struct {
	start int    // offset of its #, or of the string that holds it
	line  int    // 0-based, in the document
	text  string // from its # to the end of its line
	alone bool   // nothing but blanks is before it on the document's line
}

// findComments returns the comments of a document in their order.
func findComments(d *Document) []comment {
	if bytes.IndexByte(d.Bytes(), '#') < 0 {
		return nil
	}
	found := append(d.outerComments(), d.innerComments(d.root)...)
	slices.SortStableFunc(found, func(a, b comment) int { return a.start - b.start })
	return found
}

// innerComments returns the comments of the YAML in strings. Those of an alias are
// the anchor's.
func (d *Document) innerComments(n *yaml.Node) []comment {
	if n == nil {
		return nil
	}
	var found []comment
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 { // keys hold no documents
			found = append(found, d.innerComments(c)...)
		}
	}
	if n.Kind != yaml.ScalarNode || !strings.Contains(n.Value, "#") {
		return found
	}
	at := Node{doc: d, y: n, at: n}
	in, err := at.Embedded()
	if err != nil {
		return found
	}
	start, _ := at.Span()
	for _, inner := range in.Documents() {
		if inner.Root().IsScalar() { // a script, for one
			continue
		}
		for _, c := range inner.comments() {
			found = append(found, comment{start: start, line: inner.commentLine(c) - d.chunk.Line - 1, text: c.text})
		}
	}
	return found
}

// commentLine returns the line of the file that holds a comment.
func (d *Document) commentLine(c comment) int {
	if d.flat {
		return d.chunk.Line + 1
	}
	return d.chunk.Line + 1 + c.line
}

// outerComments returns those between the scalars.
func (d *Document) outerComments() []comment {
	src := d.Bytes()
	var found []comment
	texts, ix := d.scalars(), d.lines()
	for i := indexFrom(src, 0, '#'); i < len(src); i = indexFrom(src, i+1, '#') {
		for len(texts) > 0 && texts[0].End <= i {
			texts = texts[1:]
		}
		switch {
		case len(texts) > 0 && texts[0].Start <= i:
			i = texts[0].End - 1
		case opensComment(src, i):
			l := ix.of(i)
			before := bytes.TrimPrefix(src[ix.start(l):i], []byte(bom))
			found = append(found, comment{
				start: i, line: l, text: strings.TrimRight(string(src[i:ix.end(l)]), " \t"), alone: len(bytes.TrimLeft(before, " \t")) == 0,
			})
			i = max(ix.end(l)-1, i)
		}
	}
	return found
}

// indexFrom returns the offset of the first c from an offset on, or the end of the text.
func indexFrom(src []byte, from int, c byte) int {
	if n := bytes.IndexByte(src[from:], c); n >= 0 {
		return from + n
	}
	return len(src)
}

// opensComment reports whether a # follows a blank, a line break or nothing.
func opensComment(src []byte, i int) bool {
	return i == 0 || src[i-1] == ' ' || src[i-1] == '\t' || endsWithBreak(src[:i]) || i == len(bom) && bytes.HasPrefix(src, []byte(bom))
}

// scalars returns where the text of scalars with a # is, in its order. No other has
// what could be taken for a comment.
func (d *Document) scalars() []Splice {
	var found []Splice
	for n := range tree(d.root) {
		switch {
		case n.Kind != yaml.ScalarNode || strings.IndexByte(n.Value, '#') < 0:
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			b := d.block(n)
			found = append(found, Splice{Start: d.lines().start(b.first), End: d.lines().start(b.last + 1)})
		default:
			found = append(found, Splice{Start: d.contentStart(n), End: d.end(n)})
		}
	}
	slices.SortStableFunc(found, func(a, b Splice) int { return a.Start - b.Start })
	return found
}

// within returns the comments that start in [start, end).
func within(all []comment, start, end int) []comment {
	from, _ := slices.BinarySearchFunc(all, start, func(c comment, at int) int { return c.start - at })
	to, _ := slices.BinarySearchFunc(all, end, func(c comment, at int) int { return c.start - at })
	return all[from:max(from, to)]
}

// Comments returns the lines of the file with a comment that a node carries: in
// it, after it on its last line, or directly above it. A mapping's value has
// those of its key.
func (n Node) Comments() []int {
	if !n.Exists() {
		return nil
	}
	all := n.doc.comments()
	start, end := n.extent()
	own := slices.Concat(n.doc.above(start), within(all, start, end), n.doc.commentsAfter(end))
	return lists.Map(own, n.doc.commentLine)
}

// Comment returns the comment on a line of the file, from its #; "" where there is none.
func (d *Document) Comment(line int) string {
	found, _ := lists.Find(d.comments(), func(c comment) bool { return d.commentLine(c) == line })
	return found.text
}

// extent returns the bytes of an entry with its key, or of an item with its dash.
func (n Node) extent() (start, end int) {
	start, end = n.span(n.at)
	if n.key != nil {
		return n.doc.start(n.key), end
	}
	if n.parent != nil && n.parent.y.Style&yaml.FlowStyle == 0 {
		if dashes := n.doc.dashes(n.parent.y); n.index < len(dashes) {
			return dashes[n.index], max(end, dashes[n.index]+1)
		}
	}
	return start, end
}

// above returns the comments on the lines right above the one that starts with
// what is at an offset.
func (d *Document) above(start int) []comment {
	all, ix := d.comments(), d.lines()
	l := ix.of(start)
	lead := bytes.TrimPrefix(d.Bytes()[ix.start(l):start], []byte(bom))
	if len(bytes.TrimLeft(lead, " -")) > 0 {
		return nil
	}
	to, _ := slices.BinarySearchFunc(all, ix.start(l), func(c comment, at int) int { return c.start - at })
	from := to
	for from > 0 && all[from-1].alone && all[from-1].line == l-(to-from)-1 {
		from--
	}
	return all[from:to]
}

// commentsAfter returns the comment on the line of an offset, if nothing but blanks and
// a comma are between the two.
func (d *Document) commentsAfter(end int) []comment {
	lineEnd := d.lines().end(d.lines().of(end))
	found := within(d.comments(), end, lineEnd)
	if len(found) == 0 || len(bytes.Trim(d.Bytes()[end:found[0].start], " \t,")) > 0 {
		return nil
	}
	return found[:1]
}

// keepsComments fails when an edit lost a comment.
func keepsComments(before, after *Document) error {
	left := map[string]int{}
	for _, c := range after.comments() {
		left[c.text]++
	}
	for _, c := range before.comments() {
		if left[c.text]--; left[c.text] < 0 {
			return fmt.Errorf("the comment on line %d would be lost", before.commentLine(c))
		}
	}
	return nil
}

// removed returns what takes the place of the text [start, end): its comments,
// each on a line of its own in a column.
func (d *Document) removed(start, end, column int) Splice {
	pad := strings.Repeat(" ", column)
	var kept strings.Builder
	for _, c := range within(d.comments(), start, end) {
		kept.WriteString(pad + c.text + "\n")
	}
	return Splice{Start: start, End: end, New: kept.String()}
}
