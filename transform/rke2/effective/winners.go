// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
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

// Won is a value that wins a key, and the classes for which it does.
type Won struct {
	At      yamledit.Node
	Classes []Class
}

// Won returns the values that win a key for any of the classes, in the order of the merge. What
// the filter drops afterwards wins all the same.
func (m *Machines) Won(key string, of func(Class) bool) []Won {
	won := map[int][]Class{}
	for _, c := range m.Classes {
		if i := m.winner(c, key); i >= 0 && of(c) {
			won[i] = append(won[i], c)
		}
	}
	return lists.Map(slices.Sorted(maps.Keys(won)), func(i int) Won { return Won{m.Layers[i].Get(key), won[i]} })
}

// Winners returns the values that win a key for any of the classes, in the order of the merge.
func (m *Machines) Winners(key string, of func(Class) bool) []yamledit.Node {
	return lists.Map(m.Won(key, of), func(w Won) yamledit.Node { return w.At })
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

// Override is a value, and the one right before it that it overrides.
type Override struct{ Earlier, Later yamledit.Node }

// Overrides returns each value that overrides another one on a class for which the key means anything, once
// for each pair.
func (m *Machines) Overrides() (found []Override) {
	type pair struct {
		earlier, later int
		key            string
	}
	seen := map[pair]bool{}
	for _, class := range m.Kinds {
		last := map[string]int{} // the layer that has set a key so far
		for _, l := range m.matching(class) {
			for _, entry := range m.entries(l) {
				earlier, ok := last[entry.Key]
				last[entry.Key] = l.Index
				if p := (pair{earlier, l.Index, entry.Key}); ok && !seen[p] && m.means(class, entry.Key) {
					seen[p] = true
					found = append(found, Override{m.Layers[earlier].Get(entry.Key), entry.Value})
				}
			}
		}
	}
	return found
}

// means reports whether a key means anything on machines of a class.
func (m *Machines) means(class Class, key string) bool {
	if key == managerArgs {
		return class.ControlPlane()
	}
	return class.Server() || !m.Release.ServerOnly(key)
}
