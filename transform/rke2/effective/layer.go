// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"maps"
	"slices"

	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Layer is one location of machine configuration: the global one, or an entry with a selector.
type Layer struct {
	Config   yamledit.Node // the mapping of arguments; may be null or not exist
	Entry    yamledit.Node // what holds it and the selector; does not exist for the global layer
	Selector labels.Selector
	Index    int // among the layers
}

// Global reports whether the layer is the global one.
func (l Layer) Global() bool { return !l.Entry.Exists() }

// Matches reports whether machines of the class get the layer.
func (l Layer) Matches(c Class) bool {
	_, found := slices.BinarySearch(c.reach.selected, l.Index)
	return found
}

// Selective reports whether the layer has a selector that requires anything. A
// selector whose fields are all misspelt does not: the API prunes them.
func (l Layer) Selective() bool { return !l.Selector.Empty() }

// why says for which machines the layer is.
func (l Layer) why() string {
	if !l.Selective() {
		return "for all machines"
	}
	return "for machines with " + l.Selector.String()
}

// LayersWith returns the layers that set an argument.
func (m *Machines) LayersWith(key string) []Layer {
	return lists.Where(m.Layers, func(l Layer) bool { return l.Get(key).Exists() })
}

// Written returns the arguments of all layers.
func (m *Machines) Written() []yamledit.Entry {
	return lists.Flat(m.Layers, func(l Layer) []yamledit.Entry { return l.Config.Entries() })
}

// Get returns the value of an argument; it may not exist.
func (l Layer) Get(key string) yamledit.Node { return l.Config.Get(key) }

// File is an entry of files that Rancher writes on the machines that its selector matches. It
// never removes them again.
type File struct {
	Entry    yamledit.Node
	Sources  []FileSource
	Selector labels.Selector
	Invalid  error // of the selector, which then matches nothing
}

// FileSource is one of the objects whose data Rancher writes to files, with the node
// that names it.
type FileSource struct {
	At yamledit.Node
	Object
	Items []rkev1.KeyToPath
}

// Object is a Secret or ConfigMap on Rancher's side, in the cluster's namespace.
type Object struct{ Kind, Name string }

func (o Object) String() string { return o.Kind + " " + o.Name }

// Source returns the object whose data an entry writes to a file, and its key: the
// last one takes effect.
func (f File) Source(file string) (from FileSource, key string, found bool) {
	for _, s := range slices.Backward(f.Sources) {
		for _, item := range slices.Backward(s.Items) {
			if item.Path == file {
				return s, item.Key, true
			}
		}
	}
	return FileSource{}, "", false
}

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
