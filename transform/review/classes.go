// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"maps"
	"reflect"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Class is what a change does to the machines of one class.
type Class struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"-"`
	Kind   Kind              `json:"change"`
	Keys   []Key             `json:"keys"`
}

// Key is a key of the effective configuration with another value; a value is nil where
// the key is missing.
type Key struct {
	Name   string `json:"key"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// explain returns what machines get of documents and after the change, by class; nothing where that cannot be worked
// out: then the documents are compared instead.
func (c *comparison) explain(docs []*yamledit.Document) (before, after map[string]transform.MachineClass) {
	was, err := c.before.Format.Classes(docs, c.target)
	is, failed := c.after.Format.Classes(c.after.Docs, c.target)
	if err != nil || failed != nil {
		return nil, nil
	}
	return classesByName(was), classesByName(is)
}

func classesByName(list []transform.MachineClass) map[string]transform.MachineClass {
	of := map[string]transform.MachineClass{}
	for _, c := range list {
		of[c.Name] = c
	}
	return of
}

// firstOf distinguishes lists that are not the same one.
func firstOf[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// otherValue is a key whose values differ; the zero Setting is that of a class without the key.
type otherValue struct {
	key     string
	was, is transform.Setting
}

// differing returns the keys with another value in the settings of a class, which may be missing on
// one side. Most classes share both sides with others.
func (c *comparison) differing(before, after transform.MachineClass) (found []otherValue) {
	at := [2]*transform.Setting{firstOf(before.Settings), firstOf(after.Settings)}
	if known, has := c.compared[at]; has {
		return known
	}
	was, is := byKey(before.Settings), byKey(after.Settings)
	for _, key := range lists.Keys(was, is) {
		if !sameSetting(was[key].Value, is[key].Value) {
			found = append(found, otherValue{key, was[key], is[key]})
		}
	}
	c.compared[at] = found
	return found
}

func byKey(settings []transform.Setting) map[string]transform.Setting {
	of := map[string]transform.Setting{}
	for _, s := range settings {
		of[s.Key] = s
	}
	return of
}

// classes compares the two sides for the reader.
func (c *comparison) classes() []Class {
	before, after := c.explain(c.before.Docs)
	var found []Class
	for _, name := range lists.Keys(before, after) {
		was, had := before[name]
		class := Class{Name: name, Labels: after[name].Labels, Kind: Changed}
		if _, has := after[name]; !has {
			class.Labels, class.Kind = was.Labels, Removed
		} else if !had {
			class.Kind = Added
		}
		for _, d := range c.differing(was, after[name]) {
			class.Keys = append(class.Keys, Key{d.key, d.was.Value, d.is.Value})
		}
		if class.Kind != Changed || len(class.Keys) > 0 {
			found = append(found, class)
		}
	}
	return found
}

// sameSetting compares values as a component reads them: the order of arguments matters
// only where one is repeated.
func sameSetting(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	as, isList := a.([]any)
	bs, both := b.([]any)
	if !isList || !both || len(as) != len(bs) {
		return false
	}
	return maps.EqualFunc(byName(args.Of(a)), byName(args.Of(b)), slices.Equal[[]string])
}

// byName returns the values of each argument in their order.
func byName(list []args.Arg) map[string][]string {
	of := map[string][]string{}
	for _, a := range list {
		of[a.Name] = append(of[a.Name], a.Value)
	}
	return of
}

// changedFlags lists the arguments that two values do not share.
func changedFlags(a, b any) []string {
	as, bs := byName(args.Of(a)), byName(args.Of(b))
	return lists.Where(lists.Keys(as, bs), func(name string) bool { return !slices.Equal(as[name], bs[name]) })
}
