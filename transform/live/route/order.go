// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"reflect"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Changes reports which machines a transition changes, by their labels; nil for none. A
// manifest that is applied changes no machine.
func (r Planner) Changes(l Transition) (func(labels map[string]string) bool, error) {
	if !l.Edits() {
		return nil, nil
	}
	before, after, err := ofBoth(l, r.Target, r.Distro.Explain)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	upgrades, err := r.upgrades(l)
	if err != nil || !upgrades && same(before, after) {
		return nil, err
	}
	return func(labels map[string]string) bool {
		return upgrades || !reflect.DeepEqual(settings(before, labels), settings(after, labels))
	}, nil
}

// upgrades reports whether a transition changes the release.
func (r Planner) upgrades(l Transition) (bool, error) {
	before, after, err := ofBoth(l, r.Target, r.Distro.Open)
	if err != nil {
		return false, err
	}
	return before.Identity().Version != after.Identity().Version, nil
}

// ofBoth reads the object before a transition and after it.
func ofBoth[T any](l Transition, t transform.Target, read func([]*yamledit.Document, transform.Target) (T, error)) (before, after T, err error) {
	if before, err = read(transform.Only(l.From), t); err != nil {
		return before, after, err
	}
	after, err = read(transform.Only(l.To), t)
	return before, after, err
}

// same reports whether all classes get the same.
func same(a, b []transform.MachineClass) bool {
	return slices.EqualFunc(a, b, func(a, b transform.MachineClass) bool { return reflect.DeepEqual(given(a), given(b)) })
}

// settings are the values that a machine gets.
func settings(classes []transform.MachineClass, labels map[string]string) map[string]any {
	for _, c := range classes {
		if c.Holds != nil && c.Holds(labels) {
			return given(c)
		}
	}
	return nil
}

func given(c transform.MachineClass) map[string]any {
	all := map[string]any{}
	for _, s := range c.Settings {
		all[s.Key] = s.Value
	}
	return all
}
