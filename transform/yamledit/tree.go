// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import "sigs.k8s.io/kustomize/kyaml/yaml"

// Tree is what a Kubernetes client reads at a node, without the place: aliases are read
// through, and a merge key is replaced by what it brings in. It is for readers of whole
// documents, to which places are of no use.
type Tree struct{ y *yaml.Node }

// Tree returns what is at a node that exists.
func (n Node) Tree() Tree { return Tree{n.y} }

// IsMap reports whether it is a mapping.
func (t Tree) IsMap() bool { return t.y.Kind == yaml.MappingNode }

// IsList reports whether it is a sequence.
func (t Tree) IsList() bool { return t.y.Kind == yaml.SequenceNode }

// Len returns the number of items of a sequence.
func (t Tree) Len() int { return len(t.y.Content) }

// Item returns an item of a sequence.
func (t Tree) Item(i int) Tree { return Tree{resolved(t.y.Content[i])} }

// Entries yields the keys of a mapping, as JSON has them, with their values.
func (t Tree) Entries(yield func(string, Tree) bool) {
	if mergeKey(t.y) != nil {
		for _, p := range pairs(t.y) {
			if !yield(keyText(p.key), Tree{resolved(p.value)}) {
				return
			}
		}
		return
	}
	for i := 0; i+1 < len(t.y.Content); i += 2 {
		if !yield(keyText(t.y.Content[i]), Tree{resolved(t.y.Content[i+1])}) {
			return
		}
	}
}

// Text returns the value of a scalar that is a string, whatever it looks like.
func (t Tree) Text() (string, bool) {
	if t.y.Kind == yaml.ScalarNode && isText(t.y) {
		return t.y.Value, true
	}
	return "", false
}

// Value is that of Node.
func (t Tree) Value() any { return value(t.y) }

// JSON is that of Node.
func (t Tree) JSON() []byte { return appendJSON(nil, t.y) }
