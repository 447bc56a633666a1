// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import "strings"

// flowList is a flow collection, or a JSON object or array, with members.
type flowList struct {
	*splicer
	node    Node
	n       int  // members
	kept    int  // members up to the last one that stays
	tall    bool // the first member is on a line of its own
	column  int  // of the first member
	closing int  // offset of the closing bracket

	appended bool // a member was added on a line of its own
}

// flow changes the members of a flow collection.
func (s *splicer) flow(c *change) error {
	start := s.doc.contentStart(c.node.y)
	if src := s.doc.Bytes(); start >= len(src) || src[start] != '{' && src[start] != '[' {
		return c.node.Errorf("a pair without braces inside of a list", "put braces around it")
	}
	if c.node.written() == 0 {
		s.replace(start, s.doc.end(c.node.y), s.flowText(s.lineIndent(c.node), c.fresh()))
		return nil
	}
	f := s.flowList(c.node, start)
	if len(c.remove) == f.n {
		s.replace(start+1, f.closing, f.renderAll(c.insert)+f.comments(start+1, f.closing))
		return nil
	}
	f.removeAll(c.remove)
	for i := 0; i <= f.n; i++ {
		for _, in := range c.insert[i] {
			f.insert(i, in)
		}
	}
	return nil
}

func (s *splicer) flowList(n Node, start int) *flowList {
	ix, first := s.doc.lines(), s.doc.memberStart(n.y, 0)
	f := &flowList{splicer: s, node: n, n: n.written(), closing: s.doc.end(n.y) - 1}
	f.tall = ix.of(first) != ix.of(start)
	f.column = ix.column(first)
	return f
}

func (f *flowList) start(i int) int { return f.doc.memberStart(f.node.y, i) }
func (f *flowList) end(i int) int   { return f.doc.memberEnd(f.node.y, i) }

func (f *flowList) render(in insert) string {
	w := flowWriter{style: f.doc.style(), lines: f.tall && f.doc.json}
	if f.node.IsMap() {
		w.entry(f.column, Pair{in.key, in.value})
	} else {
		w.at(f.column, in.value)
	}
	return w.String()
}

// renderAll writes the members that take the place of all others, on one line.
func (f *flowList) renderAll(inserts map[int][]insert) string {
	var members []string
	for i := 0; i <= f.n; i++ {
		for _, in := range inserts[i] {
			members = append(members, f.render(in))
		}
	}
	return strings.Join(members, f.doc.style().comma)
}

// insert puts a member in front of member i; after the last one that stays it
// is appended.
func (f *flowList) insert(i int, in insert) {
	text, pad := f.render(in), "\n"+strings.Repeat(f.doc.style().blank, f.column)
	switch {
	case i < f.kept && f.tall:
		f.replace(f.start(i), f.start(i), text+","+pad)
	case i < f.kept:
		f.replace(f.start(i), f.start(i), text+f.doc.style().comma)
	case f.tall:
		f.appendLine(text, pad)
	default:
		f.replace(f.end(f.kept-1), f.end(f.kept-1), f.doc.style().comma+text)
	}
}

// appendLine adds a last member on a line of its own, after a comment that
// follows the member before. A comma after the last member stays the style.
func (f *flowList) appendLine(text, pad string) {
	ix, last := f.doc.lines(), f.end(f.kept-1)
	if ix.of(f.closing) == ix.of(last) {
		f.replace(last, last, ","+pad+text)
		return
	}
	at := ix.end(ix.of(last))
	if _, trailing := f.commaAfter(f.end(f.n - 1)); trailing {
		f.replace(at, at, pad+text+",")
		return
	}
	if f.appended { // the one in front of it has no comma yet
		f.replace(at, at, ","+pad+text)
		return
	}
	f.appended = true
	f.replace(last, last, ",")
	f.replace(at, at, pad+text)
}

// commaAfter finds the comma that follows offset i.
func (f *flowList) commaAfter(i int) (int, bool) {
	i = skipSeparators(f.doc.Bytes(), i)
	return i, i < len(f.doc.Bytes()) && f.doc.Bytes()[i] == ','
}

// removeAll removes some, but not all members.
func (f *flowList) removeAll(remove map[int]bool) {
	for f.kept = f.n; remove[f.kept-1]; {
		f.kept--
	}
	for i := range f.kept {
		if remove[i] {
			f.replace(f.start(i), f.start(i+1), strings.TrimLeft(f.comments(f.start(i), f.start(i+1)), " \n"))
		}
	}
	if f.kept < f.n {
		f.removeTail(f.kept)
	}
}

// removeTail removes the members from i > 0 on. A comma after the last one
// stays after the new last one.
func (f *flowList) removeTail(i int) {
	ix, end := f.doc.lines(), f.end(f.n-1)
	comma, _ := f.commaAfter(f.end(i - 1))
	if ix.of(comma) == ix.of(f.start(i)) {
		f.replace(comma, end, f.comments(comma, end))
		return
	}
	if trailing, ok := f.commaAfter(end); ok {
		end = trailing + 1
	} else {
		f.replace(comma, comma+1, "")
	}
	from := ix.end(ix.of(f.start(i)) - 1)
	kept := strings.TrimRight(f.comments(from, end), " \n")
	rest := skipBlank(f.doc.Bytes(), end)
	commented := kept != "" || len(within(f.doc.comments(), ix.start(ix.of(from)), from)) > 0
	if commented && rest < ix.end(ix.of(rest)) { // it may not follow a comment
		kept, end = kept+"\n"+strings.Repeat(" ", f.column), rest
	}
	f.replace(from, end, kept)
}

// comments returns the comments of the text [from, to), each on a line of its own
// after a line break, and what leads to the column of the members.
func (f *flowList) comments(from, to int) string {
	cut := f.doc.removed(from, to, f.column)
	if cut.New == "" {
		return ""
	}
	return "\n" + cut.New + strings.Repeat(" ", f.column)
}
