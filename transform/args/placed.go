// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"iter"
	"slices"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Placed is an argument and its place.
type Placed struct {
	Arg
	Node yamledit.Node
	// apart holds the value that is an item of its own after the flag's.
	apart yamledit.Node
}

// Holds reports whether a node is the argument, or the value that belongs to it.
func (p Placed) Holds(n yamledit.Node) bool { return slices.ContainsFunc(p.Nodes(), n.Same) }

// Nodes are the argument, and the value that belongs to it if it is another node.
func (p Placed) Nodes() []yamledit.Node {
	return slices.DeleteFunc([]yamledit.Node{p.Node, p.apart}, func(n yamledit.Node) bool { return !n.Exists() })
}

// Place returns the arguments in a string or a list of arguments.
func Place(at yamledit.Node) []Placed {
	list := make([]Placed, 0, at.Len())
	for p := range backward(at) {
		list = append(list, p)
	}
	slices.Reverse(list)
	return list
}

// LastAt returns the occurrence of a flag that counts in a string or a list of arguments.
func LastAt(at yamledit.Node, name string) (Placed, bool) {
	if !at.Exists() {
		return Placed{}, false
	}
	for p := range backward(at) {
		if p.Name == name {
			return p, true
		}
	}
	return Placed{}, false
}

// backward yields the arguments in a string or a list, the last one first.
func backward(at yamledit.Node) iter.Seq[Placed] {
	return func(yield func(Placed) bool) {
		each := at.Backward()
		if at.IsScalar() {
			each = func(yield func(yamledit.Node) bool) { yield(at) }
		}
		for n := range each {
			if text, ok := n.String(); ok && text != "" && !yield(Placed{Arg: Parse(text), Node: n}) {
				return
			}
		}
	}
}

// place reports what the change means for arguments with places: which occurrence
// goes, which gets another value, and which flag comes.
func (u Update) place(list []Placed, remove func(Placed), set func(Placed, Arg), add func(Arg)) {
	for _, p := range list {
		if slices.Contains(u.Remove, p.Name) {
			remove(p)
		}
	}
	for _, a := range u.Set {
		have, found := LastPlaced(list, a.Name)
		if !found {
			add(a)
		}
		if !found || have.same(a) {
			continue
		}
		for _, p := range list {
			if p.Name == a.Name {
				set(p, a)
			}
		}
	}
}
