// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"iter"
	"maps"
	"slices"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Candidates returns the values of a key for a class, in the order of the
// merge: the last one wins.
func (m *Machines) Candidates(class Class, key string) []yamledit.Node {
	return lists.Where(lists.Map(m.matching(class), func(l Layer) yamledit.Node { return l.Get(key) }), yamledit.Node.Exists)
}

// Winner returns the value that wins a key for a class, which the filter may drop; it does not exist
// where nothing sets the key.
func (m *Machines) Winner(c Class, key string) yamledit.Node {
	if i := m.winner(c, key); i >= 0 {
		return m.Layers[i].Get(key)
	}
	return yamledit.Node{}
}

// winner is the number of the layer that wins a key for a class, or -1.
func (m *Machines) winner(c Class, key string) int {
	for _, i := range slices.Backward(c.reach.selected[:c.reach.layers]) {
		if m.Layers[i].Get(key).Exists() {
			return i
		}
	}
	return -1
}

// Won yields the values that win a key for any of the classes, in the order of the merge, each with
// the classes for which it does. What the filter drops afterwards wins all the same.
func (m *Machines) Won(key string, of func(Class) bool) iter.Seq2[yamledit.Node, []Class] {
	won := map[int][]Class{}
	for _, c := range m.Classes {
		if i := m.winner(c, key); i >= 0 && of(c) {
			won[i] = append(won[i], c)
		}
	}
	return func(yield func(yamledit.Node, []Class) bool) {
		for _, i := range slices.Sorted(maps.Keys(won)) {
			if !yield(m.Layers[i].Get(key), won[i]) {
				return
			}
		}
	}
}

// Winners returns the values that win a key for any of the classes, in the order of the merge.
func (m *Machines) Winners(key string, of func(Class) bool) (nodes []yamledit.Node) {
	for n := range m.Won(key, of) {
		nodes = append(nodes, n)
	}
	return nodes
}

// Matched returns which selectors match any of the classes: those of layers by their index, then
// those of files.
func (m *Machines) Matched(of func(Class) bool) map[int]bool {
	matched := map[int]bool{}
	for _, c := range m.Kinds {
		for _, i := range c.reach.selected {
			matched[i] = matched[i] || of(c)
		}
	}
	return matched
}

// Overrides yields each value and the one right before it that it overrides on a class for which the key
// means anything, once for each pair.
func (m *Machines) Overrides() iter.Seq2[yamledit.Node, yamledit.Node] {
	type pair struct {
		earlier, later int
		key            string
	}
	return func(yield func(earlier, later yamledit.Node) bool) {
		seen := map[pair]bool{}
		for _, class := range m.Kinds {
			last := map[string]int{} // the layer that has set a key so far
			for _, l := range m.matching(class) {
				for _, entry := range m.entries(l) {
					earlier, ok := last[entry.Key]
					last[entry.Key] = l.Index
					p := pair{earlier, l.Index, entry.Key}
					if !ok || seen[p] || !m.means(class, entry.Key) {
						continue
					}
					seen[p] = true
					if !yield(m.Layers[earlier].Get(entry.Key), entry.Value) {
						return
					}
				}
			}
		}
	}
}

// means reports whether a key means anything on machines of a class.
func (m *Machines) means(class Class, key string) bool {
	if key == managerArgs {
		return class.ControlPlane()
	}
	return class.Server() || !m.Release.ServerOnly(key)
}
