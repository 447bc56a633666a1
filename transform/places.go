// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Places are where something is described, by its key. Of each two are kept: that is enough to name
// another one.
type Places[K comparable] map[K][]string

// Add adds a place.
func (p Places[K]) Add(key K, place string) {
	if len(p[key]) < 2 && !slices.Contains(p[key], place) {
		p[key] = append(p[key], place)
	}
}

// Other returns another place than one; "" for none.
func (p Places[K]) Other(key K, place string) string {
	other, _ := lists.Find(p[key], func(other string) bool { return other != place })
	return other
}
