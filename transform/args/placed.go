// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/lists"
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

// Plain returns arguments without their places.
func Plain(list []Placed) []Arg {
	return lists.Map(list, func(p Placed) Arg { return p.Arg })
}

// Unplaced returns arguments of no document.
func Unplaced(list []Arg) []Placed {
	return lists.Map(list, func(a Arg) Placed { return Placed{Arg: a} })
}

// Place returns the arguments in a string or a list of arguments.
func Place(at yamledit.Node) (list []Placed) {
	nodes := at.Items()
	if at.IsScalar() {
		nodes = []yamledit.Node{at}
	}
	list = make([]Placed, 0, len(nodes))
	for _, n := range nodes {
		if text, ok := n.String(); ok && text != "" {
			list = append(list, Placed{Arg: Parse(text), Node: n})
		}
	}
	return list
}

// LastPlaced returns the occurrence of a flag that counts.
func LastPlaced(list []Placed, name string) (Placed, bool) {
	for _, p := range slices.Backward(list) {
		if p.Name == name {
			return p, true
		}
	}
	return Placed{}, false
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
