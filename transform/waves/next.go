// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package waves

// State is how far the run of a cluster is.
type State string

// The states. A cluster without one waits.
const (
	Waiting State = "waiting"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
)

// Ended reports whether the run of a cluster has ended.
func (s State) Ended() bool { return s == Done || s == Failed }

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
}

// Next decides what is next. states are those of the clusters, by their names.
func Next(list []Wave, states map[string]State, l Limits) Turn {
	t := Turn{Wave: current(list, states)}
	if t.Wave == len(list) {
		return t
	}
	if tooMany(list, states, l) {
		t.Stopped = left(list, states)
		return t
	}
	room := max(l.Unavailable, 1) - count(list, states, Running)
	for _, c := range list[t.Wave].Clusters {
		if room > 0 && waits(states[c]) {
			t.Start = append(t.Start, c)
			room--
		}
	}
	return t
}

// current is the first wave with clusters that have not ended.
func current(list []Wave, states map[string]State) int {
	for i, w := range list {
		for _, c := range w.Clusters {
			if !states[c].Ended() {
				return i
			}
		}
	}
	return len(list)
}

// tooMany reports whether the failures are more than are tolerated.
func tooMany(list []Wave, states map[string]State, l Limits) bool {
	if count(list, states, Failed) > max(l.Failures, 0) {
		return true
	}
	for _, w := range list {
		if w.Canary && count([]Wave{w}, states, Failed) > 0 {
			return true
		}
	}
	return false
}

func count(list []Wave, states map[string]State, of State) int {
	n := 0
	for _, w := range list {
		for _, c := range w.Clusters {
			if states[c] == of {
				n++
			}
		}
	}
	return n
}

// left reports whether a cluster has not started.
func left(list []Wave, states map[string]State) bool {
	for _, w := range list {
		for _, c := range w.Clusters {
			if waits(states[c]) {
				return true
			}
		}
	}
	return false
}

func waits(s State) bool { return s == "" || s == Waiting }
