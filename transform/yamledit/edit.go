// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Edit queues changes to one document. Every change names nodes of the document
// as it was before the edit, so the order of calls matters only for what is put
// at one place. The first mistake is kept and returned by Apply.
type Edit struct {
	doc    *Document
	ops    map[*yaml.Node]*change // by the node that changes
	order  []*change
	inner  []*Embedded // embedded streams, in the order of use
	err    error       // the first mistake
	failed error       // the first one of Fail

	others []*Edit // of other documents

	twins map[*yaml.Node]*yaml.Node // anchored nodes and their successors, in a proof
}

// change is all that happens to one node.
type change struct {
	node    Node
	set     *promise         // the node's new value
	spliced bool             // an embedded stream has written the new value
	rename  *string          // the new key of a mapping's value
	insert  map[int][]insert // new members, by the index of the member that follows
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

// promise is the value that a node has to have.
type promise struct{ value any }

// Edit starts a change of the document.
func (d *Document) Edit() *Edit {
	return &Edit{doc: d, ops: map[*yaml.Node]*change{}}
}

// With returns an edit of several documents: this one and others. Each is applied and
// proven by itself; see Each.
func (e *Edit) With(others ...*Edit) *Edit {
	all := *e
	all.others = append(slices.Clip(e.others), others...)
	return &all
}

// Each returns the edits of single documents, this one first.
func (e *Edit) Each() []*Edit {
	own := *e
	own.others = nil
	each := []*Edit{&own}
	for _, o := range e.others {
		each = append(each, o.Each()...)
	}
	return each
}

// Document returns the document that the edit changes, the first of several.
func (e *Edit) Document() *Document { return e.doc }

// Empty reports whether nothing was queued.
func (e *Edit) Empty() bool {
	return len(e.order) == 0 && e.err == nil && !slices.ContainsFunc(e.inner, (*Embedded).touched) && !slices.ContainsFunc(e.others, func(o *Edit) bool { return !o.Empty() })
}

// Set gives an existing node a new value. A scalar keeps its quotes.
func (e *Edit) Set(n Node, v any) {
	if v = e.normal(v); e.writable(n, false) {
		e.change(n).set = &promise{v}
	}
}

// Rename changes the key of a mapping's value.
func (e *Edit) Rename(n Node, key string) {
	if !e.writable(n, false) || !e.reveals(n) {
		return
	}
	if n.key == nil || n.Parent().Get(key).Exists() {
		e.fail(n.Errorf("the key cannot be renamed", "rename it manually"))
		return
	}
	e.change(n).rename = &key
}

// Put gives the value at the end of a path of keys below a mapping, with the mappings that
// are missing on it.
func (e *Edit) Put(m Node, v any, path ...string) {
	at := m.Get(path[0])
	if at.IsMap() && len(path) > 1 {
		e.Put(at, v, path[1:]...)
		return
	}
	for _, key := range slices.Backward(path[1:]) {
		v = Map{{Key: key, Value: v}}
	}
	if at.Exists() {
		e.Set(at, v)
	} else {
		e.Insert(m, path[0], v)
	}
}

// Insert adds a key to a mapping: in its place where three or more keys are
// sorted, else at the end.
func (e *Edit) Insert(m Node, key string, v any) { e.insertKey(m, m.written(), key, v) }

// InsertAfter adds a key to the mapping of the given entry: in its place where
// three or more keys are sorted, else after the entry.
func (e *Edit) InsertAfter(sibling Node, key string, v any) {
	i := sibling.index + 1
	if sibling.from != nil {
		i = sibling.Parent().written()
	}
	e.insertKey(sibling.Parent(), i, key, v)
}

func (e *Edit) insertKey(m Node, i int, key string, v any) {
	if m.Exists() && m.Get(key).Exists() {
		e.fail(m.Errorf("the key "+key+" already exists", "remove it first"))
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
			e.fail(c.Errorf("the entry is not directly below "+n.Key(), "indent it manually"))
			return
		}
		e.change(p).moved[c.index] = true
	}
	e.change(n).adopted = entries
}

func (e *Edit) insert(c Node, i int, key string, v any) {
	if v = e.normal(v); !e.writable(c, true) {
		return
	}
	if !c.IsMap() && !c.IsList() {
		e.fail(c.Errorf("neither a mapping nor a list", "write it as one manually"))
		return
	}
	ch := e.change(c)
	ch.insert[i] = append(ch.insert[i], insert{key, v})
}

// writable refuses nodes that are not there, belong elsewhere, or share their value
// with others, and any node after an error. With inside the node's own members change.
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
			e.fail(n.Errorf("a merge key (<<) of the mapping has the same key, which would take effect instead", "copy the values to where they are used"))
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

// Fail keeps an error of who queues changes: nothing can be queued any more. Err and Apply return the first one.
func (e *Edit) Fail(err error) {
	e.fail(err)
	e.failed = cmp.Or(e.failed, err)
}

// Err returns the first error that Fail kept for the edit, or for one of a document in it; nil for none. A change
// that cannot be made fails in Apply: before it is made it only shows that something is left to do.
func (e *Edit) Err() error {
	err := e.failed
	for _, in := range e.inner {
		for _, ed := range in.edits {
			if err == nil && ed != nil {
				err = ed.Err()
			}
		}
	}
	for _, o := range e.others {
		err = cmp.Or(err, o.Err())
	}
	return err
}

// Apply makes the queued changes of one document. It returns the changed document and
// the splices that lead to it, or an error and nothing. An edit of several documents is
// applied by those that Each returns.
func (e *Edit) Apply() (*Document, []Splice, error) {
	if e.err != nil {
		return nil, nil, e.err
	}
	if len(e.others) > 0 {
		return nil, nil, e.doc.Root().Errorf("an edit of several documents was applied as one of a single document", "report this as a bug of rke-lm")
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
	after.parsed(len(out))
	if err := errors.Join(e.prove(after), keepsComments(e.doc, after)); err != nil {
		return nil, nil, e.refuse(err)
	}
	return after, splices, nil
}

// innermostFirst sorts changes so that what is added at the end of a collection
// comes before what is added after that collection: both are at one place.
func innermostFirst(changes []*change) []*change {
	return slices.SortedStableFunc(slices.Values(changes), func(a, b *change) int { return b.node.depth() - a.node.depth() })
}

func (n Node) depth() int {
	if n.parent == nil {
		return 0
	}
	return n.parent.depth() + 1
}

// refuse reports that the proof failed, and where a hand has to do it.
func (e *Edit) refuse(cause error) error {
	at := e.doc.Root()
	if len(e.order) > 0 {
		at = e.order[0].node
	}
	err := at.Errorf("the edit cannot be made safely here", "change it manually")
	err.What += " (the result would not be what was promised: " + what(cause) + ")"
	return err
}

// what drops the place from an error about text that no one will ever see.
func what(err error) string {
	if e, ok := err.(*Error); ok {
		return e.What
	}
	return err.Error()
}

// Nodes returns the nodes that the queued changes touch, in the order of the
// file: a collection for an insertion or removal in it.
func (e *Edit) Nodes() []Node {
	ns := lists.Map(e.order, func(c *change) Node { return c.node })
	for _, in := range e.inner {
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
	var removed []Node
	for _, c := range e.order {
		for _, i := range slices.Sorted(maps.Keys(c.remove)) {
			removed = append(removed, c.node.child(i))
		}
	}
	for _, in := range e.inner {
		for i, d := range in.docs {
			switch {
			case in.removed[i] && d.root != nil:
				removed = append(removed, d.Root())
			case in.edits[i] != nil && !in.removed[i]:
				removed = append(removed, in.edits[i].Removed()...)
			}
		}
	}
	return removed
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
	for _, in := range e.inner {
		for i, ed := range in.edits {
			if ed != nil && !in.removed[i] {
				replaced = append(replaced, ed.Replaced()...)
			}
		}
	}
	return replaced
}
