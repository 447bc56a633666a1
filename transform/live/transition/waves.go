// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"slices"
	"strings"

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

// State is how far the run of a cluster is.
type State string

// The states. A cluster without one waits.
const (
	Waiting State = "waiting"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	// Gated is a cluster whose run ended before a stage that must not begin yet.
	Gated State = "held"
	// Reverting is a cluster that failed and is being rolled back.
	Reverting State = "reverting"
	// Skipped is a cluster that another program or a person has to migrate.
	Skipped State = "skipped"
)

// Ended reports whether the run of a cluster has ended for good.
func (s State) Ended() bool { return s == Done || s == Failed || s == Skipped }

// Busy reports whether a run of a cluster is in progress.
func (s State) Busy() bool { return s == Running || s == Reverting }

// Limits bound a run over many clusters.
type Limits struct {
	Unavailable int // most clusters that run at once; at least one does
	Failures    int // most failures that are tolerated
}

// Turn is what is next.
type Turn struct {
	// Wave is the first one with clusters that have not ended; the number of waves
	// where all have.
	Wave int
	// Start are the clusters of that wave to start now, in their order.
	Start []string
	// Stopped reports that clusters are left and none is to start any more.
	Stopped bool
	// Wait is why clusters that could start do not, by the rules of a [Policy]; nil if none is kept.
	Wait *Wait
}

// next starts clusters as far as the limits permit, and only those that may start.
func next(list []Wave, seen map[string]Progress, l Limits, may func(cluster string) bool) Turn {
	t := Turn{Wave: current(list, seen)}
	if t.Wave == len(list) {
		return t
	}
	if tooMany(list, seen, l) {
		t.Stopped = count(list, seen, waits) > 0
		return t
	}
	room := max(l.Unavailable, 1) - count(list, seen, State.Busy)
	for _, c := range list[t.Wave].Clusters {
		if room > 0 && waits(seen[c].State) && may(c) {
			t.Start = append(t.Start, c)
			room--
		}
	}
	return t
}

// current is the first wave with clusters that have not ended.
func current(list []Wave, seen map[string]Progress) int {
	for i, w := range list {
		if slices.ContainsFunc(w.Clusters, func(c string) bool { return !seen[c].State.Ended() }) {
			return i
		}
	}
	return len(list)
}

// tooMany reports whether the failures are more than are tolerated.
func tooMany(list []Wave, seen map[string]Progress, l Limits) bool {
	return count(list, seen, failed) > max(l.Failures, 0) ||
		slices.ContainsFunc(list, func(w Wave) bool { return w.Canary && count([]Wave{w}, seen, failed) > 0 })
}

// failed reports whether a state is that of a cluster that failed, rolled back or not.
func failed(s State) bool { return s == Failed || s == Reverting }

func count(list []Wave, seen map[string]Progress, is func(State) bool) int {
	n := 0
	for _, w := range list {
		for _, c := range w.Clusters {
			if is(seen[c].State) {
				n++
			}
		}
	}
	return n
}

// waits reports whether a state is that of a cluster that has not started.
func waits(s State) bool { return s == "" || s == Waiting || s == Gated }

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
