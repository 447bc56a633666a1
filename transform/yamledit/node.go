// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Node is a place in a Document: a node and the path to it. The zero Node, and
// every node that was not found, does not exist.
type Node struct {
	doc    *Document
	y      *yaml.Node // what is there, an alias read through
	at     *yaml.Node // as it is written there: y, or an alias of it
	key    *yaml.Node // of a mapping's value
	parent *Node
	index  int        // of a list's item, or of a mapping's entry; -1 for one of a merge key
	from   *yaml.Node // the mapping that a merge key brought it in from
}

// Entry is one key of a mapping and its value.
type Entry struct {
	Key   string
	Value Node
}

// Exists reports whether the node is there. A null that is written out, or left
// out after a key, exists.
func (n Node) Exists() bool { return n.y != nil }

// IsMap, IsList and IsScalar report the kind.
func (n Node) IsMap() bool { return n.y != nil && n.y.Kind == yaml.MappingNode }

// IsList reports whether the node is a sequence.
func (n Node) IsList() bool { return n.y != nil && n.y.Kind == yaml.SequenceNode }

// IsScalar reports whether the node is a string, number, boolean or null.
func (n Node) IsScalar() bool { return n.y != nil && n.y.Kind == yaml.ScalarNode }

// IsNull reports whether the node exists and is null.
func (n Node) IsNull() bool { return n.IsScalar() && n.Value() == nil }

// Get follows keys from mapping to mapping.
func (n Node) Get(keys ...string) Node {
	for _, k := range keys {
		n = n.entry(k)
	}
	return n
}

func (n Node) entry(key string) Node {
	if !n.IsMap() {
		return Node{doc: n.doc}
	}
	n.doc.Visit(1)
	const few = 32
	if len(n.y.Content) > few || mergeKey(n.y) != nil {
		if p, has := n.doc.index(n.y).by[key]; has {
			return n.member(p)
		}
		return Node{doc: n.doc}
	}
	for i := 0; i+1 < len(n.y.Content); i += 2 {
		if k := n.y.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			parent := n // not n itself, which would be allocated for keys that are not there as well
			return parent.child(i / 2)
		}
	}
	return Node{doc: n.doc}
}

// index has the entries of a mapping as readers see them, and by their keys.
type index struct {
	pairs []pair
	by    map[string]pair
}

// index returns that of a mapping, which is made once.
func (d *Document) index(m *yaml.Node) index {
	type indexed struct{ mapping *yaml.Node }
	return Derive(d, indexed{m}, func() index {
		ix := index{pairs: pairs(m), by: map[string]pair{}}
		d.Visit(len(ix.pairs))
		for _, p := range ix.pairs {
			if _, has := ix.by[p.key.Value]; !has && p.key.Kind == yaml.ScalarNode {
				ix.by[p.key.Value] = p
			}
		}
		return ix
	})
}

// member returns an entry as readers see it.
func (n Node) member(p pair) Node {
	return Node{doc: n.doc, parent: &n, index: p.index, key: p.key, at: p.value, y: resolved(p.value), from: p.from}
}

// child returns entry or item i as it is written, with n itself as its parent.
func (n *Node) child(i int) Node {
	c := Node{doc: n.doc, parent: n, index: i}
	c.key, c.at = memberAt(n.y, i)
	c.y = resolved(c.at)
	return c
}

// memberAt returns entry i of a mapping, or item i of a list, which has no key.
func memberAt(n *yaml.Node, i int) (key, value *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		return n.Content[2*i], n.Content[2*i+1]
	}
	return nil, n.Content[i]
}

// lengthOf returns the number of entries or items of a collection; 0 for anything else.
func lengthOf(n *yaml.Node) int {
	if n.Kind == yaml.MappingNode {
		return len(n.Content) / 2
	}
	return len(n.Content)
}

// merged returns the entries that a merge key brings in.
func (n Node) merged() []Node {
	return slices.DeleteFunc(n.members(), func(c Node) bool { return c.from == nil })
}

// members returns the entries of a mapping as readers see them.
func (n Node) members() []Node {
	list := n.doc.index(n.y).pairs
	n.doc.Visit(len(list))
	return lists.Map(list, n.member)
}

// Len returns the number of entries or items.
func (n Node) Len() int {
	if n.IsMap() && mergeKey(n.y) != nil {
		return len(n.doc.index(n.y).pairs)
	}
	return n.written()
}

// written returns the number of entries or items as they are written.
func (n Node) written() int {
	if n.y == nil {
		return 0
	}
	return lengthOf(n.y)
}

// Entries returns a mapping's entries in the order of the file, those of a merge
// key in its place.
func (n Node) Entries() []Entry {
	if !n.IsMap() {
		return nil
	}
	if mergeKey(n.y) != nil {
		return lists.Map(n.members(), func(c Node) Entry { return Entry{Key: c.key.Value, Value: c} })
	}
	es := make([]Entry, n.written())
	n.doc.Visit(len(es))
	for i := range es {
		es[i] = Entry{Key: n.y.Content[2*i].Value, Value: n.child(i)}
	}
	return es
}

func (n Node) children() []Node {
	ns := make([]Node, n.written())
	n.doc.Visit(len(ns))
	for i := range ns {
		ns[i] = n.child(i)
	}
	return ns
}

// Items returns a list's items.
func (n Node) Items() []Node {
	if !n.IsList() {
		return nil
	}
	return n.children()
}

// Parent returns the collection that holds the node.
func (n Node) Parent() Node {
	if n.parent == nil {
		return Node{doc: n.doc}
	}
	return *n.parent
}

// Key returns the key of a mapping's value, and "" elsewhere.
func (n Node) Key() string {
	if n.key == nil {
		return ""
	}
	return n.key.Value
}

// Index returns the position of the node in its list or mapping.
func (n Node) Index() int { return n.index }

// Document returns the document that holds the node.
func (n Node) Document() *Document { return n.doc }

// Line returns the 1-based line in the file at which the entry (its key, for a
// mapping's value) starts, or 0 when the node does not exist.
func (n Node) Line() int {
	switch {
	case n.y == nil:
		return 0
	case n.key != nil:
		return n.doc.fileLine(n.key)
	}
	return n.doc.fileLine(n.at)
}

// Text returns the bytes of the node as they are in its document.
func (n Node) Text() string {
	if !n.Exists() {
		return ""
	}
	start, end := n.Span()
	return string(n.doc.Bytes()[start:end])
}

// Path returns the path from the root, as in spec.pools[2].name.
func (n Node) Path() string {
	if n.parent == nil {
		return ""
	}
	n.doc.Visit(1)
	p := n.parent.Path()
	switch {
	case n.key == nil:
		return p + "[" + strconv.Itoa(n.index) + "]"
	case p == "":
		return n.key.Value
	}
	return p + "." + n.key.Value
}

// Errorf returns an error that points at the node. Of a placeholder it says what that is.
func (n Node) Errorf(what, do string) *Error {
	if s, is := n.String(); is {
		if fill := placeholder(s); fill != "" {
			if strings.Contains(do, assumed) {
				fill += "; or use " + assumed
			}
			what, do = unfilled, fill
		}
	}
	at := n.at
	if n.key != nil {
		at = n.key
	}
	if p := n.Path(); p != "" {
		what = p + ": " + what
	}
	return n.doc.errorAt(at, what, do)
}

// Children returns what a collection is written with: the items of a list, or the
// values of a mapping, that of a merge key and those that it brings in as well.
func (n Node) Children() []Node {
	if n.IsMap() && mergeKey(n.y) != nil {
		return append(n.children(), n.merged()...)
	}
	return n.children()
}

// Unquoted finds text in a plain scalar, key or value, and also a mapping or list
// in the place of a key, as a template's {{ x }} looks to YAML. It returns the
// 1-based line in the file.
func (d *Document) Unquoted(text string) (line int, found bool) {
	if n := unquoted(d.root, text); n != nil {
		return d.fileLine(n), true
	}
	return 0, false
}

func unquoted(n *yaml.Node, text string) *yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode && n.Style == 0 && strings.Contains(n.Value, text):
		return n
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && isCollection(c) {
			return c
		}
		if f := unquoted(c, text); f != nil {
			return f
		}
	}
	return nil
}

// Same reports whether two nodes are one place.
func (n Node) Same(o Node) bool {
	n.doc.Visit(1)
	switch {
	case n.at != o.at:
		return false
	case n.parent == nil || o.parent == nil:
		return n.parent == o.parent
	}
	return n.parent.Same(*o.parent)
}

// Span returns the bytes of an existing node's value in its document, tag and
// anchor included, for an alias those of what it names; for a null that is left
// out both are the same.
func (n Node) Span() (start, end int) { return n.span(n.y) }

// Start returns the offset of the first byte of the entry, which is that of its key for a
// mapping's value; false where it has none, as a null that is left out.
func (n Node) Start() (offset int, written bool) {
	first := n.at
	if n.key != nil {
		first = n.key
	}
	if first == nil || !hasText(first) {
		return 0, false
	}
	return n.doc.start(first), true
}

// span returns the bytes of the node's value, or of the alias in its place.
func (n Node) span(y *yaml.Node) (start, end int) {
	if !hasText(y) {
		if n.key == nil {
			s := n.doc.start(y)
			return s, s
		}
		e := n.doc.afterColon(n.key)
		return e, e
	}
	return n.doc.start(y), n.doc.end(y)
}

// At returns the innermost node to which a line of the file belongs. A line with several entries
// belongs to the mapping or the list that they are in.
func (d *Document) At(line int) Node {
	n := d.Root()
	for {
		next, found := n.startedBy(line)
		if !found {
			return n
		}
		n = next
	}
}

// startedBy returns the last child that starts on a line or before it, if it is alone on its own.
func (n Node) startedBy(line int) (last Node, found bool) {
	if n.at != n.y {
		return n, false // what an alias refers to is elsewhere
	}
	alone := true
	for _, c := range n.children() {
		if c.Line() > line {
			break
		}
		alone = !found || c.Line() != last.Line()
		last, found = c, true
	}
	return last, found && alone
}
