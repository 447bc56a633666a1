// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// prove requires that the tree of after is the original tree plus the promised
// changes. It looks at kinds, tags, values, anchors and the order of members;
// positions and comments may move.
func (e *Edit) prove(after *Document) error {
	e.twins = map[*yaml.Node]*yaml.Node{}
	if e.doc.outer == nil || after.outer == nil {
		if e.doc.outer != after.outer {
			return fmt.Errorf("a document without content changed")
		}
		return nil
	}
	return e.same(e.doc.outer, after.outer)
}

// same compares node b with node a, its successor.
func (e *Edit) same(b, a *yaml.Node) error {
	c := e.ops[b]
	if b.Anchor != "" {
		e.twins[b] = a
	}
	switch {
	case c == nil || c.onlyRenames():
		return e.sameNode(b, a)
	case c.set != nil:
		return equalSet(b, a, c.set.value)
	case a.Anchor != b.Anchor:
		return fmt.Errorf("line %d: an anchor changed", a.Line)
	case c.adopted != nil:
		return e.sameMembers(lists.Map(c.adopted, func(n Node) expected { return expected{key: n.key, node: n.at} }), a)
	}
	if b.Kind != a.Kind {
		return fmt.Errorf("line %d: the kind of a collection changed", a.Line)
	}
	return e.sameMembers(e.members(b, c), a)
}

// equalSet compares a node with its promise. Its anchor may stay.
func equalSet(b, a *yaml.Node, want any) error {
	if a.Anchor != "" && a.Anchor != b.Anchor {
		return fmt.Errorf("line %d: an anchor changed", a.Line)
	}
	bare := *a
	bare.Anchor = ""
	return equalValue(&bare, want)
}

func (e *Edit) sameNode(b, a *yaml.Node) error {
	switch {
	case b.Kind != a.Kind || b.Tag != a.Tag || b.Style != a.Style:
		return fmt.Errorf("line %d: the kind of a value changed", a.Line)
	case b.Kind == yaml.AliasNode && (b.Value != a.Value || e.twins[b.Alias] != a.Alias), b.Anchor != a.Anchor:
		return fmt.Errorf("line %d: an anchor or alias changed", a.Line)
	case b.Kind == yaml.ScalarNode && b.Value != a.Value:
		return fmt.Errorf("line %d: a value changed", a.Line)
	case len(b.Content) != len(a.Content):
		return fmt.Errorf("line %d: a collection has %d members instead of %d", a.Line, len(a.Content), len(b.Content))
	}
	for i := range b.Content {
		if err := e.member(b, a, i); err != nil {
			return err
		}
	}
	return nil
}

// member compares child i; a key that is renamed is compared with its promise.
func (e *Edit) member(b, a *yaml.Node, i int) error {
	if b.Kind == yaml.MappingNode && i%2 == 0 {
		if c := e.ops[b.Content[i+1]]; c != nil && c.rename != nil {
			return equalValue(a.Content[i], *c.rename)
		}
	}
	return e.same(b.Content[i], a.Content[i])
}

// expected is one member of a collection as promised: an old one or a new one.
type expected struct {
	key   *yaml.Node // of an old entry
	node  *yaml.Node // an old value, or nil
	fresh *insert
}

// members lists what collection b has to hold after change c.
func (e *Edit) members(b *yaml.Node, c *change) []expected {
	var out []expected
	for i := range lengthOf(b) + 1 {
		for _, in := range c.insert[i] {
			out = append(out, expected{fresh: &in})
		}
		if i < lengthOf(b) && !c.remove[i] && !c.moved[i] {
			key, value := memberAt(b, i)
			out = append(out, expected{key: key, node: value})
		}
	}
	return out
}

func (e *Edit) sameMembers(want []expected, a *yaml.Node) error {
	if !isCollection(a) || lengthOf(a) != len(want) {
		return fmt.Errorf("line %d: a collection of %d members was promised", a.Line, len(want))
	}
	for i, m := range want {
		key, value := memberAt(a, i)
		if err := e.sameMember(m, key, value); err != nil {
			return err
		}
	}
	return nil
}

func (e *Edit) sameMember(m expected, key, a *yaml.Node) error {
	if m.fresh != nil {
		if (key == nil) != (m.fresh.key == "") || key != nil && keyText(key) != m.fresh.key {
			return fmt.Errorf("line %d: another new key was promised", a.Line)
		}
		return equalValue(a, m.fresh.value)
	}
	if (key == nil) != (m.key == nil) {
		return fmt.Errorf("line %d: a list was promised, or a mapping", a.Line)
	}
	if key != nil {
		if c := e.ops[m.node]; c != nil && c.rename != nil {
			if err := equalValue(key, *c.rename); err != nil {
				return err
			}
		} else if err := e.sameNode(m.key, key); err != nil {
			return err
		}
	}
	return e.same(m.node, a)
}
