// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package course

import (
	"reflect"

	"github.com/rke-lm/rke-lm/transform"
)

// Changes reports which machines a leg changes, by their labels; nil for none. A
// manifest that is applied changes no machine.
func (w Way) Changes(l Leg) (func(labels map[string]string) bool, error) {
	if !l.Edits() || w.Distro.Explain == nil {
		return nil, nil
	}
	before, err := w.Distro.Explain(l.Before, w.Target)
	if err != nil {
		return nil, err
	}
	after, err := w.Distro.Explain(l.After, w.Target)
	if err != nil {
		return nil, err
	}
	upgrades, err := w.upgrades(l)
	if err != nil || !upgrades && same(before, after) {
		return nil, err
	}
	return func(labels map[string]string) bool {
		return upgrades || !reflect.DeepEqual(settings(before, labels), settings(after, labels))
	}, nil
}

// upgrades reports whether a leg changes the release.
func (w Way) upgrades(l Leg) (bool, error) {
	before, err := w.Distro.Open(l.Before, w.Target)
	if err != nil {
		return false, err
	}
	after, err := w.Distro.Open(l.After, w.Target)
	if err != nil {
		return false, err
	}
	return before.Identity().Version != after.Identity().Version, nil
}

// same reports whether all classes get the same.
func same(a, b []transform.MachineClass) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !reflect.DeepEqual(given(a[i]), given(b[i])) {
			return false
		}
	}
	return true
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
