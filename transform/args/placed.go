// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import "github.com/rke-lm/rke-lm/transform/yamledit"

// Placed is an argument and where it stands.
type Placed struct {
	Arg
	Node yamledit.Node
	// apart holds the value that is an item of its own behind the flag's.
	apart yamledit.Node
}

// Holds reports whether a node is the argument, or the value that belongs to it.
func (p Placed) Holds(n yamledit.Node) bool {
	return n.Same(p.Node) || p.apart.Exists() && n.Same(p.apart)
}

// Place returns the arguments in a string or a list of arguments.
func Place(at yamledit.Node) []Placed {
	nodes := at.Items()
	if at.IsScalar() {
		nodes = []yamledit.Node{at}
	}
	var list []Placed
	for _, n := range nodes {
		if text, ok := n.String(); ok && text != "" {
			list = append(list, Placed{Arg: Parse(text), Node: n})
		}
	}
	return list
}
