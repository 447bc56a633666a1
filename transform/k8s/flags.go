// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// Gates is the component of the table that lists feature gates, which all components read.
const Gates = "feature-gates"

//go:embed flags.tsv
var flagsTSV string

// minors is a range of them.
type minors struct{ first, last int }

// flagTable has the minors of each flag, by component and name, and those of the table.
var flagTable = sync.OnceValues(func() (of map[string]map[string][]minors, all minors) {
	of, all = map[string]map[string][]minors{}, minors{first: 1 << 10}
	for line := range strings.Lines(flagsTSV) {
		var component, name string
		var m minors
		if _, err := fmt.Sscan(line, &component, &name, &m.first, &m.last); err != nil || line[0] == '#' {
			continue
		}
		if of[component] == nil {
			of[component] = map[string][]minors{}
		}
		of[component][name] = append(of[component][name], m)
		all = minors{min(all.first, m.first), max(all.last, m.last)}
	}
	return of, all
})

// FlagOf reports whether a component of a release has a flag, and in which minor it last had it; 0 for
// never. A release after the table is like the last one in it, for which sure is false. Of what is not
// in the table nothing is known.
func FlagOf(component, name, version string) (has bool, last int, sure bool) {
	table, all := flagTable()
	minor := Minor(version)
	if table[component] == nil || minor < all.first {
		return true, 0, false
	}
	for _, m := range table[component][name] {
		has = has || m.first <= min(minor, all.last) && min(minor, all.last) <= m.last
		last = m.last
	}
	return has, last, minor <= all.last
}
