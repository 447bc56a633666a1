// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/schema"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// promised says whether a key may go from one value to the other on machines of
// a class. An absent value is nil.
type promised func(class Class, key string, before, after any) bool

// check compares every machine class before and after a stage. Keys that do not
// change need no promise.
func (m *migration) check(after transform.Cluster, ok promised) error {
	a := *after.(*migration).Cluster
	a.Release = m.Release // a release's own arguments are no change of the stage
	if len(m.Classes) != len(a.Classes) {
		return fmt.Errorf("the machine classes would change")
	}
	for i, class := range m.Classes {
		if class.Name != a.Classes[i].Name || !maps.Equal(class.Labels, a.Classes[i].Labels) {
			return fmt.Errorf("the machine class %s would change", class.Name)
		}
		if err := checkClass(class, m.Effective(class).Values(), a.Effective(class).Values(), ok); err != nil {
			return err
		}
	}
	return newStrictErrors(m.Root, a.Root)
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

// newStrictErrors fails when decoding into Rancher's own type finds an unknown
// or duplicate field that was not there before, or finds one more often.
func newStrictErrors(before, after yamledit.Node) error {
	return schema.NewFields[provv1.Cluster](before, after, "a Cluster of provisioning.cattle.io/v1")
}
