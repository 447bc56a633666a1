// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"fmt"
	"reflect"

	"github.com/rancher/wrangler/v3/pkg/data/convert"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// promised reports whether a value that RKE reads may go from one to the other. The
// path to it is spelt as in Rancher's API, in every document; an absent value is
// nil.
type promised func(path string, before, after any) bool

// check compares what RKE reads before and after a stage. What does not change
// needs no promise.
func (m *migration) check(after *migration, ok promised) error {
	before, err := m.values()
	if err != nil {
		return err
	}
	now, err := after.values()
	if err != nil {
		return err
	}
	for _, path := range lists.Keys(before, now) {
		if !reflect.DeepEqual(before[path], now[path]) && !ok(path, before[path], now[path]) {
			return fmt.Errorf("%s would change", path)
		}
	}
	return m.strictness().Allows(after.strictness())
}

// values returns every value that RKE reads by the path to it.
func (c *Cluster) values() (map[string]any, error) {
	var v any
	found, err := map[string]any{}, convert.ToObj(c.Read, &v)
	flatten("", v, found)
	return found, err
}

func flatten(path string, v any, into map[string]any) {
	m, isMap := v.(map[string]any)
	if !isMap {
		into[path] = v
		return
	}
	for key, inner := range m {
		if path != "" {
			key = path + "." + key
		}
		flatten(key, inner, into)
	}
}
