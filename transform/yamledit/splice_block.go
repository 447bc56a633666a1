// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// blockList is the common view of a block mapping's entries and a block list's
// items: where each starts and ends, and in which column.
type blockList struct {
	*splicer
	node   Node
	starts []int
	column int
	width  int // from the dash to the item; 0 for a mapping
}

func (s *splicer) blockList(n Node) (*blockList, error) {
	b := &blockList{splicer: s, node: n}
	if n.IsMap() {
		for i := 0; i < len(n.y.Content); i += 2 {
			b.starts = append(b.starts, s.doc.start(n.y.Content[i]))
		}
	} else {
		b.starts = s.doc.dashes(n.y)
		b.width = s.dashWidth(n.y, b.starts)
	}
	if len(b.starts) == 0 {
		return nil, n.Errorf("the layout of this list is not supported", "write one item a line, each with its own dash")
	}
	b.column = s.doc.lines().column(b.starts[0])
	return b, nil
}

// dashWidth returns the columns from a dash to its item on the same line, as the list has them.
func (s *splicer) dashWidth(list *yaml.Node, dashes []int) int {
	for i, dash := range dashes {
		item := s.doc.start(list.Content[i])
		if hasText(list.Content[i]) && dash < item && len(bytes.Trim(s.doc.Bytes()[dash+1:item], " \t")) == 0 {
			return item - dash
		}
	}
	return s.doc.style().width
}

func (b *blockList) end(i int) int { return b.doc.memberEnd(b.node.y, i) }

// ownLine reports whether the first member is the first thing on its line.
func (b *blockList) ownLine() bool {
	ix := b.doc.lines()
	from := ix.start(ix.of(b.starts[0]))
	before := bytes.TrimPrefix(b.doc.Bytes()[from:b.starts[0]], []byte(bom))
	return len(bytes.TrimLeft(before, " ")) == 0
}

// block changes the members of a block collection.
func (s *splicer) block(c *change) error {
	b, err := s.blockList(c.node)
	if err != nil {
		return err
	}
	if len(c.remove) == len(b.starts) {
		if len(c.insert) == 0 {
			b.empty(c.remove)
			return nil
		}
		if !b.ownLine() {
			return c.node.Errorf("all members after a dash would be replaced", "change it manually")
		}
	}
	b.removeAll(c.remove)
	if len(c.insert[len(b.starts)]) > 0 && !c.remove[len(b.starts)-1] && b.endsText() {
		b.strip(lastLeaf(b.node.y)) // a block scalar ends without a line break: once text follows, only "|-" still reads it so
	}
	kept := b.kept(c.remove)
	for i := 0; i <= len(b.starts); i++ {
		for _, in := range c.insert[i] {
			if i >= kept && kept > 0 && b.endsText() {
				b.insert(len(b.starts), in) // the members in between go with the last line break
			} else {
				b.insert(i, in)
			}
		}
	}
	return nil
}

// endsText reports whether no line break follows the last member.
func (b *blockList) endsText() bool {
	ix := b.doc.lines()
	return ix.of(b.end(len(b.starts)-1))+1 == ix.count()
}

// kept returns the number of members up to the last one that stays.
func (b *blockList) kept(remove map[int]bool) int {
	n := len(b.starts)
	for n > 0 && remove[n-1] {
		n--
	}
	return n
}

// render writes a member as it is after its indentation.
func (b *blockList) render(in insert) string {
	w := b.doc.blockWriter(b.node.y)
	if b.node.IsMap() {
		w.entry(b.column, Pair{in.key, in.value})
	} else {
		w.item(b.column, b.width, in.value)
	}
	return w.String()
}

// insert puts a member in front of member i: after the content of the one
// before, so that comments stay with what they are about.
func (b *blockList) insert(i int, in insert) {
	text, pad := b.render(in), strings.Repeat(" ", b.column)
	if i == 0 {
		b.insertFirst(text, pad)
		return
	}
	ix := b.doc.lines()
	line := ix.of(b.end(i - 1))
	if line+1 < ix.count() {
		at := ix.start(line + 1)
		b.replace(at, at, pad+text+"\n")
		return
	}
	if endsInBreak(in.value) {
		text += "\n"
	}
	at := len(b.doc.Bytes())
	b.replace(at, at, "\n"+pad+text)
}

// endsInBreak reports whether the last thing written of a value is a literal
// block whose text ends with a line break; at the end of a file that takes one.
func endsInBreak(v any) bool {
	switch v := v.(type) {
	case Map:
		return len(v) > 0 && endsInBreak(v[len(v)-1].Value)
	case []any:
		return len(v) > 0 && endsInBreak(v[len(v)-1])
	case string:
		_, literal := literalBlock(v, 0, 2)
		return literal && strings.HasSuffix(v, "\n")
	}
	return false
}

func (b *blockList) insertFirst(text, pad string) {
	ix, first := b.doc.lines(), b.starts[0]
	if !b.ownLine() {
		b.replace(first, first, text+"\n"+pad)
		return
	}
	at := ix.start(ix.of(first))
	if k := b.node.key; k != nil {
		before := b.doc.afterColon(k)
		if !plainStart(b.node.y) {
			before = b.doc.propertiesEnd(b.node.y)
		}
		at = ix.start(ix.of(before) + 1)
	}
	if at == 0 && bytes.HasPrefix(b.doc.Bytes(), []byte(bom)) {
		at = len(bom)
	}
	b.replace(at, at, pad+text+"\n")
}

// empty removes all members: {} or [] takes their place.
func (b *blockList) empty(all map[int]bool) {
	brackets := "[]"
	if b.node.IsMap() {
		brackets = "{}"
	}
	last := len(b.starts) - 1
	if b.node.key == nil || !b.ownLine() {
		end := b.end(last)
		if len(within(b.doc.comments(), b.starts[0], end)) > 0 {
			end = b.doc.lines().end(b.doc.lines().of(end))
		}
		cut := b.doc.removed(b.starts[0], end, b.column)
		b.replace(cut.Start, cut.End, strings.TrimSuffix(brackets+"\n"+cut.New, "\n"))
		return
	}
	at := b.doc.afterColon(b.node.key)
	if !plainStart(b.node.y) {
		at = b.doc.propertiesEnd(b.node.y)
	}
	b.replace(at, at, " "+brackets)
	b.removeAll(all)
}

// removeAll takes whole lines, so that comments above and below stay; those on
// the lines get lines of their own. A first member that shares its line with a
// dash gives the place to what follows.
func (b *blockList) removeAll(remove map[int]bool) {
	ix := b.doc.lines()
	var cuts []Splice
	i := 0
	if remove[0] && !b.ownLine() {
		for ; remove[i]; i++ {
		}
		next := ix.of(b.end(i-1)) + 1
		spaces, _ := ix.indent(next)
		cut := b.doc.removed(b.starts[0], ix.start(next)+spaces, b.column)
		if cut.New != "" {
			cut.New = strings.TrimLeft(cut.New, " ") + strings.Repeat(" ", spaces)
		}
		cuts = append(cuts, cut)
	}
	for ; i < len(b.starts); i++ {
		if remove[i] {
			cuts = append(cuts, b.doc.removed(ix.start(ix.of(b.starts[i])), ix.start(ix.of(b.end(i))+1), b.column))
		}
	}
	for _, c := range b.keepLastLineOpen(order(cuts), remove) {
		b.replace(c.Start, c.End, c.New)
	}
}

// keepLastLineOpen lets a text without a final line break stay so, unless the
// break is part of the block scalar that is the last to stay.
func (b *blockList) keepLastLineOpen(cuts []Splice, remove map[int]bool) []Splice {
	src := b.doc.Bytes()
	if len(cuts) == 0 || endsWithBreak(src) {
		return cuts
	}
	c := &cuts[len(cuts)-1]
	if c.New != "" && c.End == len(src) {
		c.New = strings.TrimSuffix(c.New, "\n")
		return cuts
	}
	if kept := b.kept(remove); kept > 0 {
		if _, last := memberAt(b.node.y, kept-1); lastLeaf(last).Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			return cuts
		}
	}
	if c.End == len(src) && c.Start > 0 {
		ix := b.doc.lines()
		c.Start = ix.end(ix.of(c.Start) - 1)
	}
	return cuts
}

// joinOpenEnd joins the last two removals where both leave the last line of the
// text open: each by itself takes the break between them.
func (s *splicer) joinOpenEnd(splices []Splice) []Splice {
	n, ix := len(splices), s.doc.lines()
	if n < 2 {
		return splices
	}
	first, last := &splices[n-2], splices[n-1]
	line := ix.of(first.Start)
	if first.New+last.New != "" || last.End != len(s.doc.Bytes()) || first.End <= last.Start || line == 0 || ix.start(line) != first.Start {
		return splices
	}
	first.Start, first.End = ix.end(line-1), last.End
	return splices[:n-1]
}

func lastLeaf(n *yaml.Node) *yaml.Node {
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	return n
}
