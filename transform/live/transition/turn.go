// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import "slices"

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
