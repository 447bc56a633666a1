// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package args reads and changes one component flag in the spellings in which
// clusters carry it.
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

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Arg is one argument of a component.
type Arg struct {
	Name  string
	Value string // "true" for a bare name, as RKE2 completes it
	Text  string // as written
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
			list = append(list, Parse(fmt.Sprint(m)))
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

// Without returns the arguments except one flag.
func Without(list []Arg, name string) []Arg {
	return slices.DeleteFunc(slices.Clone(list), func(a Arg) bool { return a.Name == name })
}

// Switch makes sure that a boolean flag is on in a list or string of arguments.
// Nothing is queued when it is.
func Switch(e *yamledit.Edit, at yamledit.Node, name string) error {
	list := Of(at.Value())
	if a, found := Last(list, name); found {
		if !a.True() {
			Replace(e, at, name, "true")
		}
		return nil
	}
	text := name
	if len(list) > 0 && !slices.ContainsFunc(list, func(a Arg) bool { return !strings.HasPrefix(a.Text, "--") }) {
		text = "--" + name
	}
	switch v := at.Value().(type) {
	case []any:
		e.Append(at, text)
	case string:
		e.Set(at, append(texts(list), text))
	case nil:
		e.Set(at, []string{text})
	default:
		return at.Errorf(fmt.Sprintf("%s where arguments are expected, which Rancher drops", kind(v)), "write a list of arguments, or remove the key")
	}
	return nil
}

// Replace gives every occurrence of a flag a value.
func Replace(e *yamledit.Edit, at yamledit.Node, name, value string) {
	for _, n := range occurrences(at, name) {
		prefix := ""
		if text, _ := n.String(); strings.HasPrefix(text, "--") {
			prefix = "--"
		}
		e.Set(n, prefix+name+"="+value)
	}
}

// Remove takes every occurrence of a flag out of a list of arguments. A string
// that is the flag becomes empty.
func Remove(e *yamledit.Edit, at yamledit.Node, name string) {
	for _, n := range occurrences(at, name) {
		if at.IsList() {
			e.Remove(n)
		} else {
			e.Set(n, "")
		}
	}
}

// occurrences returns the nodes that hold a flag.
func occurrences(at yamledit.Node, name string) []yamledit.Node {
	nodes := at.Items()
	if at.IsScalar() {
		nodes = []yamledit.Node{at}
	}
	return slices.DeleteFunc(nodes, func(n yamledit.Node) bool {
		text, ok := n.String()
		return !ok || Parse(text).Name != name
	})
}

func texts(list []Arg) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.Text
	}
	return out
}

func kind(v any) string {
	if _, ok := v.(map[string]any); ok {
		return "a mapping"
	}
	return "a number or boolean"
}
