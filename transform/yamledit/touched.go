// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"maps"
	"slices"

	"github.com/rke-lm/rke-lm/transform/lists"
)

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
