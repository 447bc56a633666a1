// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

func TestCanariesAreTheFirstWave(t *testing.T) {
	for _, c := range []struct {
		names, canaries []string
		size            int
		want            []Wave
	}{
		{nil, nil, 0, nil},
		{[]string{"a", "b", "c"}, nil, 0, []Wave{{Name: "wave-1", Clusters: []string{"a", "b", "c"}}}},
		{[]string{"a", "b", "c"}, nil, 2, []Wave{{Name: "wave-1", Clusters: []string{"a", "b"}}, {Name: "wave-2", Clusters: []string{"c"}}}},
		{[]string{"a", "b", "c", "d"}, []string{"c"}, 2, []Wave{
			{Name: "canary", Clusters: []string{"c"}, Canary: true}, {Name: "wave-2", Clusters: []string{"a", "b"}}, {Name: "wave-3", Clusters: []string{"d"}}}},
		{[]string{"a"}, []string{"a", "a"}, 5, []Wave{{Name: "canary", Clusters: []string{"a"}, Canary: true}}},
		{[]string{"a", "a"}, nil, 5, []Wave{{Name: "wave-1", Clusters: []string{"a"}}}},
	} {
		got := Split(c.names, c.canaries, c.size)
		assert.Truef(t, reflect.DeepEqual(got, c.want), "%v %v %d: %v", c.names, c.canaries, c.size, got)
	}
}

func TestEveryClusterIsInOneWave(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		names := clusters(random.IntN(30))
		canaries := names[:random.IntN(len(names)+1)]
		size := random.IntN(7)
		seen := map[string]int{}
		for i, w := range Split(names, canaries, size) {
			assert.Mustf(t, len(w.Clusters) != 0 && (size <= 0 || w.Canary || len(w.Clusters) <= size) && (!w.Canary || i <= 0), "%d canaries, size %d: %+v", len(canaries), size, w)
			for _, c := range w.Clusters {
				seen[c]++
			}
		}
		for _, n := range names {
			assert.Mustf(t, seen[n] == 1, "%s is in %d waves", n, seen[n])
		}
	}
}

func clusters(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("cluster-%02d", i))
	}
	return names
}

// byLimits is what is next by limits alone.
func byLimits(list []Wave, states map[string]State, l Limits) Turn {
	seen := map[string]Progress{}
	for c, s := range states {
		seen[c] = Progress{State: s}
	}
	return Policy{Limits: l}.Next(list, seen, time.Time{})
}

// fleet is a run whose clusters end at random.
type fleet struct {
	waves  []Wave
	states map[string]State
	limits Limits
}

func newFleet(random *rand.Rand) *fleet {
	names := clusters(1 + random.IntN(25))
	canaries := names[:random.IntN(min(3, len(names))+1)]
	return &fleet{
		waves: Split(names, canaries, random.IntN(6)), states: map[string]State{},
		limits: Limits{Unavailable: random.IntN(5), Failures: random.IntN(4)},
	}
}

func (f *fleet) of(s State) []string {
	all := lists.Flat(f.waves, func(w Wave) []string { return w.Clusters })
	return lists.Where(all, func(c string) bool { return f.states[c] == s })
}

// start starts what is next, and checks what has to hold.
func (f *fleet) start(t *testing.T) Turn {
	t.Helper()
	before := f.tooMany()
	turn := byLimits(f.waves, f.states, f.limits)
	again := byLimits(f.waves, f.states, f.limits)
	assert.Mustf(t, reflect.DeepEqual(turn, again), "%+v, and then %+v", turn, again)
	assert.Mustf(t, len(turn.Start) == 0 || !before, "%v start after %v failed of %d", turn.Start, f.of(Failed), f.limits.Failures)
	for _, c := range turn.Start {
		assert.Mustf(t, f.states[c] == "" && slices.Contains(f.waves[turn.Wave].Clusters, c), "%s starts, is %q, and is not of wave %d", c, f.states[c], turn.Wave)
		f.states[c] = Running
	}
	for _, w := range f.waves[:turn.Wave] {
		for _, c := range w.Clusters {
			assert.Mustf(t, f.states[c].Ended(), "wave %d has its turn, and %s of %s is %q", turn.Wave, c, w.Name, f.states[c])
		}
	}
	running := f.of(Running)
	assert.Mustf(t, len(running) <= max(f.limits.Unavailable, 1), "%d run at once, and %d may", len(running), f.limits.Unavailable)
	return turn
}

// tooMany is what the limits say of failures, in another way than Next.
func (f *fleet) tooMany() bool {
	failed := f.of(Failed)
	return len(failed) > f.limits.Failures || slices.ContainsFunc(f.waves, func(w Wave) bool {
		return w.Canary && slices.ContainsFunc(w.Clusters, func(c string) bool { return slices.Contains(failed, c) })
	})
}

func TestARunOverManyClustersKeepsItsLimits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	stopped := 0
	for range 2000 {
		f := newFleet(random)
		var turn Turn
		for {
			turn = f.start(t)
			running := f.of(Running)
			if len(running) == 0 {
				break
			}
			end := Done
			if random.IntN(8) == 0 {
				end = Failed
			}
			f.states[running[random.IntN(len(running))]] = end
		}
		left := len(f.of(""))
		if turn.Stopped {
			stopped++
		}
		assert.Mustf(t, turn.Stopped == (left > 0), "stopped: %t, and %d are left", turn.Stopped, left)
		assert.Mustf(t, turn.Stopped || turn.Wave == len(f.waves), "it ended at wave %d of %d", turn.Wave, len(f.waves))
		assert.Mustf(t, left == 0 || f.tooMany(), "%d are left without a reason", left)
	}
	assert.Truef(t, stopped != 0 && stopped != 2000, "%d of 2000 were stopped", stopped)
}

// A controller that starts again knows which clusters run and which have ended, and decides the same.
func TestWhatIsNextFollowsFromTheStatesAlone(t *testing.T) {
	list := Split(clusters(5), []string{"cluster-03"}, 2)
	for _, c := range []struct {
		name   string
		states map[string]State
		limits Limits
		want   Turn
	}{
		{"at the start", nil, Limits{2, 0}, Turn{Start: []string{"cluster-03"}}},
		{"the canary runs", map[string]State{"cluster-03": Running}, Limits{2, 0}, Turn{}},
		{"the canary failed", map[string]State{"cluster-03": Failed}, Limits{2, 5}, Turn{Wave: 1, Stopped: true}},
		{"the canary is done", map[string]State{"cluster-03": Done, "cluster-00": Waiting}, Limits{2, 0}, Turn{Wave: 1, Start: []string{"cluster-00", "cluster-01"}}},
		{"one of a wave runs", map[string]State{"cluster-03": Done, "cluster-00": Done, "cluster-01": Running}, Limits{2, 0}, Turn{Wave: 1}},
		{"one of a wave failed, another one runs", map[string]State{"cluster-03": Done, "cluster-00": Failed, "cluster-01": Running}, Limits{2, 0}, Turn{Wave: 1, Stopped: true}},
		{"one of a wave failed, and may", map[string]State{"cluster-03": Done, "cluster-00": Failed, "cluster-01": Done}, Limits{1, 1}, Turn{Wave: 2, Start: []string{"cluster-02"}}},
		{"the last one failed", map[string]State{"cluster-03": Done, "cluster-00": Done, "cluster-01": Done, "cluster-02": Done, "cluster-04": Failed}, Limits{1, 0}, Turn{Wave: 3}},
		{"a limit of none is one", map[string]State{"cluster-03": Done}, Limits{}, Turn{Wave: 1, Start: []string{"cluster-00"}}},
	} {
		got := byLimits(list, c.states, c.limits)
		assert.Truef(t, reflect.DeepEqual(got, c.want), "%s: %+v", c.name, got)
	}
}
