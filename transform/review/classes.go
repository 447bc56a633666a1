// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"maps"
	"reflect"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Class is what a change does to the machines of one class.
type Class struct {
	Name   string
	Labels map[string]string
	Kind   Kind
	Keys   []Key
}

// Key is a key of the effective configuration with another value; a value is nil where
// the key is missing.
type Key struct {
	Name          string
	Before, After any
}

// effective is the effective configuration of one version of the documents, by class.
type effective map[string]transform.MachineClass

// explain returns what machines get, and whether that can be worked out: where it cannot,
// the documents are compared instead.
func explain(d transform.Distro, docs []*yamledit.Document, t transform.Target) (of effective, known bool) {
	classes, err := d.Explain(docs, t)
	of = effective{}
	for _, c := range classes {
		of[c.Name] = c
	}
	return of, err == nil
}

// setting returns what a class gets for a key.
func (e effective) setting(class, key string) (transform.Setting, bool) {
	settings := e[class].Settings
	i := slices.IndexFunc(settings, func(s transform.Setting) bool { return s.Key == key })
	if i < 0 {
		return transform.Setting{}, false
	}
	return settings[i], true
}

// keys lists those of a class in either configuration.
func keys(class string, sides ...effective) []string {
	all := map[string]bool{}
	for _, e := range sides {
		for _, s := range e[class].Settings {
			all[s.Key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// classes compares the two sides for the reader.
func (c *comparison) classes() []Class {
	before, known := explain(c.before.Distro, c.before.Docs, c.target)
	after, both := explain(c.after.Distro, c.after.Docs, c.target)
	if !known || !both {
		return nil
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	var found []Class
	for _, name := range slices.Sorted(maps.Keys(names)) {
		class := Class{Name: name, Labels: names[name].Labels, Kind: Changed}
		_, had := before[name]
		_, has := after[name]
		switch {
		case !had:
			class.Kind = Added
		case !has:
			class.Kind = Removed
		}
		for _, key := range keys(name, before, after) {
			was, _ := before.setting(name, key)
			is, _ := after.setting(name, key)
			if !sameSetting(was.Value, is.Value) {
				class.Keys = append(class.Keys, Key{key, was.Value, is.Value})
			}
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
	all := maps.Clone(as)
	maps.Copy(all, bs)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return slices.Equal(as[name], bs[name]) })
}
