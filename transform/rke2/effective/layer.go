// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
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
