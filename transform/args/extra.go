// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Extra is the extraArgs of kubeadm: a mapping of names to values, and from
// v1beta4 on a list of {name, value}.
type Extra struct {
	at   yamledit.Node
	list []Arg
}

// ReadExtra reads extraArgs; at need not exist. It fails for what kubeadm does
// not take.
func ReadExtra(at yamledit.Node) (Extra, error) {
	x := Extra{at: at}
	for _, e := range at.Entries() {
		if err := x.read(e.Value, e.Key, e.Value); err != nil {
			return x, err
		}
	}
	for _, item := range at.Items() {
		name, _ := item.Get("name").String()
		if err := x.read(item, name, item.Get("value")); err != nil {
			return x, err
		}
	}
	if at.IsScalar() && !at.IsNull() {
		return x, at.Errorf("neither a mapping nor a list", "write flags without dashes and their values, as kubeadm takes them")
	}
	return x, nil
}

func (x *Extra) read(at yamledit.Node, name string, value yamledit.Node) error {
	v, ok := value.String()
	if !ok || name == "" {
		return at.Errorf("not a flag with a string as its value", `write name and value as strings, as in "true"`)
	}
	a := With(strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-"), v)
	a.Text = name + "=" + v
	x.list = append(x.list, a.At(at, value))
	return nil
}

// List returns the arguments in the order of the document.
func (x Extra) List() []Arg { return x.list }

// Apply queues a change of the arguments. Nothing is queued where it holds
// already. extraArgs must exist.
func (x Extra) Apply(e *yamledit.Edit, u Update) {
	u.place(x.list, func(p Arg) { e.Remove(p.Node()) }, func(p Arg, a Arg) { e.Set(p.Nodes[1], a.Value) }, func(a Arg) {
		if x.at.IsList() {
			e.Append(x.at, yamledit.Map{{Key: "name", Value: a.Name}, {Key: "value", Value: a.Value}})
			return
		}
		e.Insert(x.at, a.Name, a.Value)
	})
}

// OfMap returns the arguments in a mapping from flags to values, in the order of
// the file. A value may be a list, of which every item is an occurrence.
func OfMap(at yamledit.Node) []Arg {
	var list []Arg
	for _, e := range at.Entries() {
		values := []yamledit.Node{e.Value}
		if e.Value.IsList() {
			values = e.Value.Items()
		}
		for _, n := range values {
			list = append(list, With(e.Key, written(n)).At(n))
		}
	}
	return list
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
	set := func(p Arg, a Arg) { e.Set(p.Node(), a.Value) }
	Update{Set: u.Set}.place(OfMap(at), nil, set, func(a Arg) { e.Put(at, a.Value, a.Name) })
}
