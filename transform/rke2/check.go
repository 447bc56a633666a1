// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// promised reports whether a key may go from one value to the other on machines of
// a class. An absent value is nil.
type promised func(class Class, key string, before, after any) bool

// check compares every machine class before and after a stage. Keys that do not
// change need no promise.
func (m *migration) check(after *migration, ok promised) error {
	a := after.under(m.Release) // a release's own arguments are no change of the stage
	if len(m.Classes) != len(a.Classes) {
		return fmt.Errorf("the machine classes would change")
	}
	seen := map[[2]*reach]bool{}
	for i, class := range m.Classes {
		if class.Name != a.Classes[i].Name || !maps.Equal(class.Labels, a.Classes[i].Labels) {
			return fmt.Errorf("the machine class %s would change", class.Name)
		}
		if kind := [2]*reach{class.reach, a.Classes[i].reach}; !seen[kind] {
			seen[kind] = true
			if err := checkClass(class, m.Effective(class).Values(), a.Effective(a.Classes[i]).Values(), ok); err != nil {
				return err
			}
		}
	}
	return m.strict.Allows(a.strict)
}

func checkClass(class Class, before, after map[string]any, ok promised) error {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !reflect.DeepEqual(before[key], after[key]) && !ok(class, key, before[key], after[key]) {
			return fmt.Errorf("%s would change on machines of class %s", key, class.Name)
		}
	}
	return nil
}
