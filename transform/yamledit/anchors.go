// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Aliases and merge keys are read through: a node's value is what its alias names,
// and a mapping has the entries that its merge key brings in. An edit never changes
// a value that something else shares; what it may do is replace an alias.

const mergeText = "<<"

// resolved returns what an alias names, and any other node itself.
func resolved(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// isMergeKey reports whether a key is a merge key and not the text.
func isMergeKey(k *yaml.Node) bool { return k.Tag == "!!merge" }

func mergeKey(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if isMergeKey(n.Content[i]) {
			return n.Content[i]
		}
	}
	return nil
}

// pair is an entry of a mapping as readers see it.
type pair struct {
	key, value *yaml.Node
	index      int        // in the mapping; -1 for an entry that a merge key brings in
	from       *yaml.Node // the mapping that a merge key brought it in from
}

// pairs returns the entries of a mapping: its own, and in the place of a merge key
// those that it brings in. An own entry counts before them, and one of an earlier
// mapping before one of a later.
func pairs(m *yaml.Node) []pair {
	list := make([]pair, 0, len(m.Content)/2)
	there := map[string]bool{}
	if mergeKey(m) != nil {
		for i := 0; i+1 < len(m.Content); i += 2 {
			there[keyText(m.Content[i])] = !isMergeKey(m.Content[i])
		}
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		if !isMergeKey(key) {
			list = append(list, pair{key: key, value: value, index: i / 2})
			continue
		}
		for _, from := range sources(value) {
			for _, p := range pairs(from) {
				if key := keyText(p.key); !there[key] {
					there[key] = true
					list = append(list, pair{key: p.key, value: p.value, index: -1, from: from})
				}
			}
		}
	}
	return list
}

// sources returns the mappings that a merge key names.
func sources(v *yaml.Node) []*yaml.Node {
	if v = resolved(v); v.Kind != yaml.SequenceNode {
		return []*yaml.Node{v}
	}
	return lists.Map(v.Content, resolved)
}

// checkMerges refuses merge keys that name no mapping, as readers do, and keys in
// front of a merge key that brings in the same: there readers disagree.
func (d *Document) checkMerges() error {
	if !bytes.Contains(d.Bytes(), []byte(mergeText)) {
		return nil
	}
	for n := range tree(d.root) {
		if k := mergeKey(n); k != nil {
			if err := d.checkMerge(n, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Document) checkMerge(m, key *yaml.Node) error {
	i := slices.Index(m.Content, key)
	before := map[string]bool{}
	for j := 0; j < i; j += 2 {
		before[keyText(m.Content[j])] = true
	}
	for _, from := range sources(m.Content[i+1]) {
		if from.Kind != yaml.MappingNode {
			return d.errorAt(key, "a merge key (<<) refers to something other than a mapping", "refer to a mapping, or a list of mappings")
		}
		for _, p := range pairs(from) {
			if before[keyText(p.key)] {
				return d.errorAt(key, fmt.Sprintf("a merge key (<<) after the key %q has the same key, and YAML parsers disagree on which one takes effect", clip(p.key.Value)), "move the merge key to the top of its mapping")
			}
		}
	}
	return nil
}

// findAliases returns the aliases of every anchored node.
func findAliases(root *yaml.Node) map[*yaml.Node][]*yaml.Node {
	found := map[*yaml.Node][]*yaml.Node{}
	for n := range tree(root) {
		if n.Kind == yaml.AliasNode {
			found[n.Alias] = append(found[n.Alias], n)
		}
	}
	return found
}

// tree yields a node and all below it, each before its members; none for nil. Aliases are not read through.
func tree(root *yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) { visit(root, yield) }
}

func visit(n *yaml.Node, yield func(*yaml.Node) bool) bool {
	if n == nil {
		return true
	}
	return yield(n) && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !visit(c, yield) })
}

// sharedAbove returns an error where a change inside of a node would change what
// others share: its collection is one of an alias or a merge key, or has aliases.
// With inside the node's own members change.
func (n Node) sharedAbove(inside bool) error {
	for p := &n; p != nil; p, inside = p.parent, true {
		switch {
		case p.from != nil:
			return n.sharedError(p.from)
		case !inside:
		case p.at.Kind == yaml.AliasNode, len(n.doc.aliases()[p.y]) > 0:
			return n.sharedError(p.y)
		}
	}
	return nil
}

// sharedError names all who share a value.
func (n Node) sharedError(anchored *yaml.Node) error {
	places := lists.Map(n.doc.aliases()[anchored], func(a *yaml.Node) string { return fmt.Sprintf("%s:%d", n.doc.File(), n.doc.fileLine(a)) })
	if len(places) == 0 {
		return n.Errorf("this is from a merge key (<<)", "write the value as an entry of the mapping")
	}
	return n.Errorf(fmt.Sprintf("the change would affect every use of this value: the anchor (&) on %s:%d, and its aliases (*) on %s",
		n.doc.File(), n.doc.fileLine(anchored), strings.Join(places, ", ")), "copy the values to where they are used")
}

// orphans returns an error where a change takes away an anchor and leaves aliases
// of it.
func (e *Edit) orphans() error {
	if len(e.doc.aliases()) == 0 {
		return nil
	}
	removed := map[*yaml.Node]bool{}
	for _, c := range e.order {
		for _, n := range c.replaced() {
			for in := range tree(n.at) {
				removed[in] = true
			}
		}
		for i := range c.remove {
			for in := range tree(c.node.child(i).key) {
				removed[in] = true
			}
		}
	}
	for _, c := range e.order {
		for _, n := range c.replaced() {
			if err := n.orphaned(removed); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaced returns the nodes that a change sets or takes away.
func (c *change) replaced() []Node {
	var nodes []Node
	if c.set != nil {
		nodes = append(nodes, c.node)
	}
	for i := range c.remove {
		nodes = append(nodes, c.node.child(i))
	}
	return nodes
}

func (n Node) orphaned(removed map[*yaml.Node]bool) error {
	for y := range tree(n.at) {
		if slices.ContainsFunc(n.doc.aliases()[y], func(a *yaml.Node) bool { return !removed[a] }) {
			return n.sharedError(y)
		}
	}
	return nil
}

// Written returns the line of the file on which the value of a node is written:
// that of the anchor where an alias refers to it. Line is where it counts.
func (n Node) Written() int {
	if n.y == nil || n.at == n.y {
		return n.Line()
	}
	return n.doc.fileLine(n.y)
}

// Alias returns the line of the file with the alias or the merge key through which
// a node gets its value, or 0.
func (n Node) Alias() int {
	for p := &n; p != nil; p = p.parent {
		switch {
		case p.y == nil:
			return 0
		case p.from != nil:
			if k := mergeKey(p.parent.y); k != nil {
				return n.doc.fileLine(k)
			}
		case p.at != p.y:
			return n.doc.fileLine(p.at)
		}
	}
	return 0
}
