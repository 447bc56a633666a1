// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Has reports whether a node is the argument, or the value that belongs to it.
func (a Arg) Has(n yamledit.Node) bool { return slices.ContainsFunc(a.Nodes, n.Same) }

// Node is where the argument is written; it does not exist where that is not known.
func (a Arg) Node() yamledit.Node {
	if len(a.Nodes) == 0 {
		return yamledit.Node{}
	}
	return a.Nodes[0]
}

// At returns the argument with its place.
func (a Arg) At(nodes ...yamledit.Node) Arg {
	a.Nodes = nodes
	return a
}

// Place returns the arguments, with their places, in a string or a list of arguments.
func Place(at yamledit.Node) (list []Arg) {
	nodes := at.Items()
	if at.IsScalar() {
		nodes = []yamledit.Node{at}
	}
	list = make([]Arg, 0, len(nodes))
	for i, n := range nodes {
		if text, ok := n.String(); ok && text != "" {
			list = append(list, Parse(text).At(nodes[i:i+1]...))
		}
	}
	return list
}

// place reports what the change means for arguments with places: which occurrence
// goes, which gets another value, and which flag comes.
func (u Update) place(list []Arg, remove func(Arg), set func(Arg, Arg), add func(Arg)) {
	for _, p := range list {
		if slices.Contains(u.Remove, p.Name) {
			remove(p)
		}
	}
	for _, a := range u.Set {
		have, found := Last(list, a.Name)
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
