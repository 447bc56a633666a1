// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Edit queues changes to one document. Every change names nodes of the document
// as it was before the edit, so the order of calls matters only for what is put
// at one place. The first mistake is kept and returned by Apply.
type Edit struct {
	doc   *Document
	ops   map[*yaml.Node]*change // by the node that changes
	order []*change
	inner embeddings
	err   error

	twins map[*yaml.Node]*yaml.Node // anchored nodes and their successors, in a proof
}

// change is all that happens to one node.
type change struct {
	node    Node
	set     *promise         // the node's new value
	spliced bool             // an embedded stream has written the new value
	rename  *string          // the new key of a mapping's value
	insert  map[int][]insert // new members, by the index in front of which they stand
	remove  map[int]bool     // members that go
	moved   map[int]bool     // members that a sibling adopts
	adopted []Node           // siblings that become the node's entries
}

// onlyRenames reports whether the node itself stays as it is.
func (c *change) onlyRenames() bool {
	return c.set == nil && c.adopted == nil && len(c.insert)+len(c.remove)+len(c.moved) == 0
}

type insert struct {
	key   string // of a mapping's entry
	value any
}

// promise is the value that a node shall have.
type promise struct{ value any }

// Edit starts a change of the document.
func (d *Document) Edit() *Edit {
	return &Edit{doc: d, ops: map[*yaml.Node]*change{}}
}

// Empty reports whether nothing was queued.
func (e *Edit) Empty() bool {
	for _, in := range e.inner.list {
		if in.touched() {
			return false
		}
	}
	return len(e.order) == 0 && e.err == nil
}

// Nodes returns the nodes that the queued changes touch, in the order of the
// file: a collection for an insertion or removal in it.
func (e *Edit) Nodes() []Node {
	var ns []Node
	for _, c := range e.order {
		ns = append(ns, c.node)
	}
	for _, in := range e.inner.list {
		if in.touched() {
			ns = append(ns, in.node)
		}
	}
	slices.SortStableFunc(ns, func(a, b Node) int { return a.Line() - b.Line() })
	return ns
}

// Removed returns what the queued changes take away: entries, items, and documents
// of embedded streams by their roots.
func (e *Edit) Removed() []Node {
	var gone []Node
	for _, c := range e.order {
		for _, i := range slices.Sorted(maps.Keys(c.remove)) {
			gone = append(gone, c.node.child(i))
		}
	}
	for _, in := range e.inner.list {
		for i, d := range in.docs {
			switch {
			case in.removed[i] && d.root != nil:
				gone = append(gone, d.Root())
			case in.edits[i] != nil && !in.removed[i]:
				gone = append(gone, in.edits[i].Removed()...)
			}
		}
	}
	return gone
}

// Replaced returns the values that the queued changes give another one: what is
// set or removed, keys that are renamed, and collections that get their first
// member.
func (e *Edit) Replaced() []Node {
	replaced := e.Removed()
	for _, c := range e.order {
		if c.set != nil && !c.spliced || c.rename != nil || len(c.insert) > 0 && c.node.written() == 0 {
			replaced = append(replaced, c.node)
		}
	}
	for _, in := range e.inner.list {
		for i, ed := range in.edits {
			if ed != nil && !in.removed[i] {
				replaced = append(replaced, ed.Replaced()...)
			}
		}
	}
	return replaced
}

// Set gives an existing node a new value. A scalar keeps its quotes.
func (e *Edit) Set(n Node, v any) {
	if v, ok := e.value(n, v); ok && e.writable(n, false) {
		e.change(n).set = &promise{v}
	}
}

// Rename changes the key of a mapping's value.
func (e *Edit) Rename(n Node, key string) {
	if !e.writable(n, false) || !e.reveals(n) {
		return
	}
	if n.key == nil || n.Parent().Get(key).Exists() {
		e.fail(n.Errorf("the key cannot be renamed", "rename it by hand"))
		return
	}
	e.change(n).rename = &key
}

// Insert adds a key to a mapping: in its place where three or more keys are
// sorted, else at the end.
func (e *Edit) Insert(m Node, key string, v any) { e.insertKey(m, m.written(), key, v) }

// InsertAfter adds a key to the mapping of the given entry: in its place where
// three or more keys are sorted, else behind the entry.
func (e *Edit) InsertAfter(sibling Node, key string, v any) {
	i := sibling.index + 1
	if sibling.from != nil {
		i = sibling.Parent().written()
	}
	e.insertKey(sibling.Parent(), i, key, v)
}

func (e *Edit) insertKey(m Node, i int, key string, v any) {
	if m.Exists() && m.Get(key).Exists() {
		e.fail(m.Errorf("the key "+key+" is there already", "remove it first"))
		return
	}
	if sorted, ok := sortedPlace(m, key); ok {
		i = sorted
	}
	if text, ok := v.(string); ok && strings.Contains(text, "\n") {
		i = e.doc.clearOfComments(m, i)
	}
	e.insert(m, i, key, v)
}

// InsertItem adds an item to a list in front of item i.
func (e *Edit) InsertItem(list Node, i int, v any) { e.insert(list, i, "", v) }

// Append adds an item at the end of a list.
func (e *Edit) Append(list Node, v any) { e.insert(list, list.written(), "", v) }

// Remove takes an entry out of its mapping or an item out of its list. A
// collection that loses its last member stays, as {} or [].
func (e *Edit) Remove(n Node) {
	if !e.writable(n, false) || !e.reveals(n) {
		return
	}
	p := n.Parent()
	if !p.Exists() {
		e.fail(n.Errorf("the whole document cannot be removed", "delete the file"))
		return
	}
	e.change(p).remove[n.index] = true
}

// Adopt moves entries of a mapping below their sibling n, whose value is null:
// the correction of keys that were indented too little. They must follow n, one
// after the other.
func (e *Edit) Adopt(n Node, entries []Node) {
	if !e.writable(n, true) {
		return
	}
	p := n.Parent()
	for i, c := range entries {
		if !e.writable(c, true) {
			return
		}
		if c.Parent().y != p.y || c.index != n.index+1+i {
			e.fail(c.Errorf("the entry does not stand right below "+n.Key(), "indent it by hand"))
			return
		}
		e.change(p).moved[c.index] = true
	}
	e.change(n).adopted = entries
}

func (e *Edit) insert(c Node, i int, key string, v any) {
	v, ok := e.value(c, v)
	if !ok || !e.writable(c, true) {
		return
	}
	if !c.IsMap() && !c.IsList() {
		e.fail(c.Errorf("neither a mapping nor a list", "write it as one by hand"))
		return
	}
	ch := e.change(c)
	ch.insert[i] = append(ch.insert[i], insert{key, v})
}

// value brings v to known types, and remembers the error if it has none.
func (e *Edit) value(n Node, v any) (any, bool) {
	nv, err := normal(v)
	if err != nil {
		e.fail(err)
		return nil, false
	}
	return nv, n.doc == e.doc || e.writable(n, true)
}

// writable refuses nodes that are not there, belong elsewhere, or share their value
// with others. With inside the node's own members change.
func (e *Edit) writable(n Node, inside bool) bool {
	switch {
	case e.err != nil:
		return false
	case !n.Exists() || n.doc != e.doc:
		e.fail(&Error{File: e.doc.File(), Line: e.doc.chunk.Line + 1, What: "an edit names a node that is not in the document", Do: "report this as a bug of rke-lm"})
		return false
	}
	if err := n.sharedAbove(inside); err != nil {
		e.fail(err)
		return false
	}
	return true
}

// reveals refuses to take a key away that hides one of a merge key.
func (e *Edit) reveals(n Node) bool {
	if n.key == nil || mergeKey(n.parent.y) == nil {
		return true
	}
	i := slices.Index(n.parent.y.Content, mergeKey(n.parent.y))
	for _, from := range sources(n.parent.y.Content[i+1]) {
		if slices.ContainsFunc(pairs(from), func(p pair) bool { return sameKey(p.key, n.key) }) {
			e.fail(n.Errorf("a merge key (<<) of the mapping brings in the same key, which would count instead", "write the values out where they are used"))
			return false
		}
	}
	return true
}

func (e *Edit) change(n Node) *change {
	c := e.ops[n.at]
	if c == nil {
		c = &change{node: n, insert: map[int][]insert{}, remove: map[int]bool{}, moved: map[int]bool{}}
		e.ops[n.at] = c
		e.order = append(e.order, c)
	}
	return c
}

func (e *Edit) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// Apply makes the queued changes. It returns the changed document and the
// splices that lead to it, or an error and nothing.
func (e *Edit) Apply() (*Document, []Splice, error) {
	if e.err != nil {
		return nil, nil, e.err
	}
	if err := e.orphans(); err != nil {
		return nil, nil, err
	}
	p := &splicer{doc: e.doc, edit: e}
	if err := p.embedded(); err != nil {
		return nil, nil, err
	}
	for _, c := range innermostFirst(e.order) {
		if err := p.change(c); err != nil {
			return nil, nil, err
		}
	}
	splices := p.joinOpenEnd(order(p.splices))
	out, err := Apply(e.doc.Bytes(), splices)
	if err != nil {
		return nil, nil, e.refuse(err)
	}
	chunk := e.doc.chunk
	chunk.Bytes = out
	after, err := Parse(chunk)
	if err != nil {
		return nil, nil, e.refuse(err)
	}
	after.texts, after.strings = e.doc.texts, e.doc.strings
	if err := errors.Join(e.prove(after), keepsComments(e.doc, after)); err != nil {
		return nil, nil, e.refuse(err)
	}
	return after, splices, nil
}

// innermostFirst sorts changes so that what is added at the end of a collection
// comes before what is added behind that collection: both stand at one place.
func innermostFirst(changes []*change) []*change {
	return slices.SortedStableFunc(slices.Values(changes), func(a, b *change) int { return b.node.depth() - a.node.depth() })
}

func (n Node) depth() int {
	if n.parent == nil {
		return 0
	}
	return n.parent.depth() + 1
}

// refuse says that the proof failed, and where a hand has to do it.
func (e *Edit) refuse(cause error) error {
	at := e.doc.Root()
	if len(e.order) > 0 {
		at = e.order[0].node
	}
	err := at.Errorf("the edit cannot be made safely here", "change it by hand")
	err.What += " (the result would not be what was promised: " + what(cause) + ")"
	return err
}

// what drops the place from an error about text that nobody will ever see.
func what(err error) string {
	if e, ok := err.(*Error); ok {
		return e.What
	}
	return err.Error()
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
// block can stand without swallowing what follows: a comment that is indented like
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
