// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Wave is a group of clusters. The next group waits for all of them.
type Wave struct {
	Name     string
	Clusters []string
	Canary   bool // no failure is tolerated in it
}

// CanaryName is the name of the wave of canaries.
const CanaryName = "canary"

// Split makes waves of clusters: first the canaries, if there are some, then groups of a
// size in the order of the names. A size of 0 means one group.
func Split(names, canaries []string, size int) []Wave {
	var list []Wave
	if len(canaries) > 0 {
		list = append(list, Wave{Name: CanaryName, Clusters: lists.Distinct(canaries), Canary: true})
	}
	rest := slices.DeleteFunc(lists.Distinct(names), func(n string) bool { return slices.Contains(canaries, n) })
	if size <= 0 {
		size = max(len(rest), 1)
	}
	for group := range slices.Chunk(rest, size) {
		list = append(list, Wave{Name: fmt.Sprintf("wave-%d", len(list)+1), Clusters: slices.Clone(group)})
	}
	return list
}
