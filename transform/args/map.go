// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import "github.com/rke-lm/rke-lm/transform/yamledit"

// OfMap returns the arguments in a mapping from flags to values, in the order of
// the file. A value may be a list, of which every item is an occurrence.
func OfMap(at yamledit.Node) []Placed {
	var list []Placed
	for _, e := range at.Entries() {
		values := []yamledit.Node{e.Value}
		if e.Value.IsList() {
			values = e.Value.Items()
		}
		for _, n := range values {
			list = append(list, Placed{Arg: With(e.Key, written(n)), Node: n})
		}
	}
	return list
}

// LastPlaced returns the occurrence of a flag that counts.
func LastPlaced(list []Placed, name string) (Placed, bool) {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Name == name {
			return list[i], true
		}
	}
	return Placed{}, false
}

// written returns a value as it is written: RKE passes 0644 and yes on as they are.
func written(n yamledit.Node) string {
	if text, ok := n.String(); ok || n.IsNull() {
		return text
	}
	return n.Text()
}

// ApplyMap queues the change of a mapping from flags to values. What is set is
// written as a string: API JSON takes nothing else. Nothing is queued where it
// holds already.
func (u Update) ApplyMap(e *yamledit.Edit, at yamledit.Node) {
	for _, name := range u.Remove {
		if n := at.Get(name); n.Exists() {
			e.Remove(n)
		}
	}
	for _, set := range u.Set {
		n := at.Get(set.Name)
		switch have, found := LastPlaced(OfMap(at), set.Name); {
		case !n.Exists():
			e.Insert(at, set.Name, set.Value)
		case found && have.same(set):
		case found && n.IsList():
			for _, item := range n.Items() {
				e.Set(item, set.Value)
			}
		default:
			e.Set(n, set.Value)
		}
	}
}
