// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package args reads and changes one component flag in the spellings in which
// clusters carry it, and finds the word that a misspelt one was meant to be.
//
// Invariant: flags are compared by name and value, however they are spelt
// (name, name=value, --name=value), the last occurrence of a name counts, and
// an edit touches the one argument that it is about.
package args

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Arg is one argument of a component.
type Arg struct {
	Name  string
	Value string // "true" for a bare name, as RKE2 completes it
	Text  string // as written

	// Nodes are where it is written, if that is known: the argument, and the value that is a node of its own.
	Nodes []yamledit.Node
}

// Parse reads an argument.
func Parse(text string) Arg {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	if !hasValue {
		value = "true"
	}
	return Arg{Name: name, Value: value, Text: text}
}

// True reports whether the argument switches a boolean flag on.
func (a Arg) True() bool {
	on, err := strconv.ParseBool(a.Value)
	return err == nil && on
}

// Of returns the arguments in a value that is a string or a list, as
// yamledit.Node.Value reads it. Members that are not strings count by their
// text, as RKE2 takes them.
func Of(v any) []Arg {
	switch v := v.(type) {
	case string:
		if v != "" {
			return []Arg{Parse(v)}
		}
	case []any:
		list := make([]Arg, 0, len(v))
		for _, m := range v {
			text, is := m.(string)
			if !is {
				text = fmt.Sprint(m)
			}
			list = append(list, Parse(text))
		}
		return list
	}
	return nil
}

// Last returns the occurrence of a flag that counts.
func Last(list []Arg, name string) (Arg, bool) {
	for _, a := range slices.Backward(list) {
		if a.Name == name {
			return a, true
		}
	}
	return Arg{}, false
}

// Has reports whether a flag is among arguments.
func Has(list []Arg, name string) bool {
	_, has := Last(list, name)
	return has
}

// Value returns the value of the occurrence of a flag that counts; "" for none.
func Value(list []Arg, name string) string {
	a, _ := Last(list, name)
	return a.Value
}

// Enables reports whether arguments switch a boolean flag on.
func Enables(list []Arg, name string) bool {
	a, _ := Last(list, name)
	return a.True()
}

// Without returns the arguments except some flags.
func Without(list []Arg, names ...string) []Arg {
	return slices.DeleteFunc(slices.Clone(list), func(a Arg) bool { return slices.Contains(names, a.Name) })
}

// Texts returns arguments as they are written.
func Texts(list []Arg) []string { return lists.Map(list, func(a Arg) string { return a.Text }) }

// Names returns the names of flags.
func Names(list []Arg) []string { return lists.Map(list, func(a Arg) string { return a.Name }) }

// Update is a change of the arguments at one location.
type Update struct {
	Remove []string // flags that go, by name
	Set    []Arg    // flags that get a value, in place or at the end
}

// On returns the argument that switches a boolean flag on.
func On(name string) Arg { return Arg{Name: name, Value: "true", Text: name} }

// With returns the argument name=value.
func With(name, value string) Arg { return Arg{Name: name, Value: value, Text: name + "=" + value} }

// Apply queues the change of a list or string of arguments. Nothing is queued
// where it holds already. The edit fails for values that Rancher drops.
func (u Update) Apply(e *yamledit.Edit, at yamledit.Node) {
	switch at.Value().(type) {
	case []any:
		u.list(e, at)
	case string, nil:
		u.scalar(e, at)
	default:
		kind := "a number or boolean"
		if at.IsMap() {
			kind = "a mapping"
		}
		e.Fail(at.Errorf(kind+" instead of arguments; Rancher drops it", "write a list of arguments, or remove the key"))
	}
}

func (u Update) list(e *yamledit.Edit, at yamledit.Node) {
	u.place(Place(at), func(p Arg) { e.Remove(p.Node()) }, func(p Arg, a Arg) {
		e.Set(p.Node(), Spelled([]Arg{p}, With(a.Name, a.Value)))
	}, func(a Arg) { e.Append(at, Spelled(Of(at.Value()), a)) })
}

// scalar changes a string, or a null, which becomes a list where it grows.
func (u Update) scalar(e *yamledit.Edit, at yamledit.Node) {
	before := Of(at.Value())
	after := Without(before, u.Remove...)
	for _, set := range u.Set {
		have, found := Last(after, set.Name)
		switch {
		case !found:
			after = append(after, Parse(Spelled(before, set)))
		case !have.same(set):
			after = []Arg{Parse(Spelled(after, With(set.Name, set.Value)))}
		}
	}
	switch texts := Texts(after); {
	case slices.Equal(texts, Texts(before)):
	case len(after) == 0:
		e.Set(at, "")
	case len(after) == 1 && len(before) == 1:
		e.Set(at, texts[0])
	default:
		e.Set(at, texts)
	}
}

// same compares what two arguments say, however they are spelt.
func (a Arg) same(b Arg) bool {
	return a.Name == b.Name && (a.Value == b.Value || a.True() && b.True())
}

// Spelled returns how Update writes an argument among others: with dashes where all of them have these.
func Spelled(list []Arg, a Arg) string {
	if len(list) > 0 && !slices.ContainsFunc(list, func(o Arg) bool { return !strings.HasPrefix(o.Text, "--") }) {
		return "--" + a.Text
	}
	return a.Text
}

// Remove takes every occurrence of a flag out of a list of arguments.
func Remove(e *yamledit.Edit, at yamledit.Node, name string) {
	Update{Remove: []string{name}}.list(e, at)
}

// Rewrite gives every occurrence of a flag in a list the text of an argument, and
// reports whether there was one.
func Rewrite(e *yamledit.Edit, at yamledit.Node, text string) (found bool) {
	for _, p := range Place(at) {
		if p.Name == Parse(text).Name {
			e.Set(p.Node(), text)
			found = true
		}
	}
	return found
}

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
