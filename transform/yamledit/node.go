// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Node is a place in a Document: a node and the way to it. The zero Node, and
// every node that was looked up in vain, does not exist.
type Node struct {
	doc    *Document
	y      *yaml.Node
	key    *yaml.Node // of a mapping's value
	parent *Node
	index  int // of a list's item, or of a mapping's entry
}

// Entry is one key of a mapping and its value.
type Entry struct {
	Key   string
	Value Node
}

// Exists reports whether the node is there. A null that is written out, or left
// out behind a key, exists.
func (n Node) Exists() bool { return n.y != nil }

// IsMap, IsList and IsScalar tell the kind; aliases are none of them.
func (n Node) IsMap() bool { return n.y != nil && n.y.Kind == yaml.MappingNode }

// IsList reports whether the node is a sequence.
func (n Node) IsList() bool { return n.y != nil && n.y.Kind == yaml.SequenceNode }

// IsScalar reports whether the node is a string, number, boolean or null.
func (n Node) IsScalar() bool { return n.y != nil && n.y.Kind == yaml.ScalarNode }

// IsNull reports whether the node exists and is null.
func (n Node) IsNull() bool { return n.IsScalar() && n.Value() == nil }

// Get follows keys from mapping to mapping. It does not follow aliases.
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
	for i := 0; i+1 < len(n.y.Content); i += 2 {
		if k := n.y.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return n.child(i / 2)
		}
	}
	return Node{doc: n.doc}
}

// child returns entry or item i.
func (n Node) child(i int) Node {
	c := Node{doc: n.doc, parent: &n, index: i}
	if n.y.Kind == yaml.MappingNode {
		c.key, c.y = n.y.Content[2*i], n.y.Content[2*i+1]
	} else {
		c.y = n.y.Content[i]
	}
	return c
}

// Len returns the number of entries or items.
func (n Node) Len() int {
	switch {
	case n.IsMap():
		return len(n.y.Content) / 2
	case n.IsList():
		return len(n.y.Content)
	}
	return 0
}

// Entries returns a mapping's entries in the order of the file.
func (n Node) Entries() []Entry {
	if !n.IsMap() {
		return nil
	}
	es := make([]Entry, n.Len())
	for i := range es {
		c := n.child(i)
		es[i] = Entry{Key: c.key.Value, Value: c}
	}
	return es
}

// Items returns a list's items.
func (n Node) Items() []Node {
	if !n.IsList() {
		return nil
	}
	ns := make([]Node, n.Len())
	for i := range ns {
		ns[i] = n.child(i)
	}
	return ns
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
	return n.doc.fileLine(n.y)
}

// Text returns the bytes of the node as they stand in its document.
func (n Node) Text() string {
	if !n.Exists() {
		return ""
	}
	start, end := n.Span()
	return string(n.doc.Bytes()[start:end])
}

// Path returns the way from the root, as in spec.pools[2].name.
func (n Node) Path() string {
	if n.parent == nil {
		return ""
	}
	p := n.parent.Path()
	switch {
	case n.key == nil:
		return p + "[" + strconv.Itoa(n.index) + "]"
	case p == "":
		return n.key.Value
	}
	return p + "." + n.key.Value
}

// Errorf returns an error that points at the node.
func (n Node) Errorf(what, do string) *Error {
	at := n.y
	if n.key != nil {
		at = n.key
	}
	if p := n.Path(); p != "" {
		what = p + ": " + what
	}
	return n.doc.errorAt(at, what, do)
}

// Shared returns an error that points at the first anchor, alias or merge key
// in or above the node, or nil. A change to such a node would also change other
// places, and what it holds cannot be read off it alone.
func (n Node) Shared() error {
	for p := n.parent; p != nil; p = p.parent {
		if p.y.Anchor != "" {
			return p.sharedError(p.y)
		}
		if k := mergeKey(p.y); k != nil {
			return p.sharedError(k)
		}
	}
	if s := sharedIn(n.y); s != nil {
		return n.sharedError(s)
	}
	return nil
}

func (n Node) sharedError(at *yaml.Node) error {
	e := n.Errorf("an anchor, alias or merge key (<<) stands in the way", "write the values out where they are used")
	e.Line = n.doc.fileLine(at)
	return e
}

func sharedIn(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	if k := mergeKey(n); k != nil {
		return k
	}
	for _, c := range n.Content {
		if s := sharedIn(c); s != nil {
			return s
		}
	}
	return nil
}

func mergeKey(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			return n.Content[i]
		}
	}
	return nil
}

// Children returns the items of a list or the values of a mapping.
func (n Node) Children() []Node {
	ns := make([]Node, n.Len())
	for i := range ns {
		ns[i] = n.child(i)
	}
	return ns
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
func (n Node) Same(o Node) bool { return n.y == o.y }
