// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is which clusters are in a wave, of those that are in no earlier one: a number of
// them, a percentage of all, those that match, or all that are left.
type Rule struct {
	Name          string
	Size, Percent int
	Matches       func(cluster string) bool
}

// RestName is the name of the last wave, with the clusters of no other one.
const RestName = "rest"

// Assign puts clusters into waves, in the order of their names.
func Assign(rules []Rule, names []string) []Wave {
	left := slices.Compact(slices.Sorted(slices.Values(names)))
	all := len(left)
	var list []Wave
	for _, r := range rules {
		w := Wave{Name: r.Name}
		room := r.room(all)
		left = slices.DeleteFunc(left, func(c string) bool {
			if len(w.Clusters) == room || r.Matches != nil && !r.Matches(c) {
				return false
			}
			w.Clusters = append(w.Clusters, c)
			return true
		})
		list = append(list, w)
	}
	if len(left) > 0 || len(list) == 0 {
		list = append(list, Wave{Name: free(RestName, rules), Clusters: left})
	}
	return list
}

// room is the most clusters that a rule takes of all.
func (r Rule) room(all int) int {
	switch {
	case r.Size > 0:
		return r.Size
	case r.Percent > 0:
		const whole = 100
		return (all*r.Percent + whole - 1) / whole
	}
	return all
}

// free is a name that no rule has.
func free(name string, rules []Rule) string {
	taken := func(n string) bool { return slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == n }) }
	for n := 2; taken(name); n++ {
		base, _, _ := strings.Cut(name, "-")
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}
