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
)

// noon is a Wednesday.
var noon = time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)

func window(t *testing.T, on []string, from, to, zone string) *Window {
	t.Helper()
	location := assert.Value(time.LoadLocation(zone))(t)
	return assert.Value(NewWindow(on, from, to, location))(t)
}

func TestAPolicyDecidesByTheTimeAndByApprovals(t *testing.T) {
	list := []Wave{{Name: "first", Clusters: []string{"a"}}, {Name: "second", Clusters: []string{"b", "c"}}}
	hourAgo := noon.Add(-time.Hour)
	firstDone := map[string]Progress{"a": {State: Done, Since: hourAgo}}
	held := map[string]Progress{"a": {State: Done, Since: hourAgo}, "b": {State: Gated, Stage: "install-ccm"}, "c": {State: Running}}
	two := Limits{Unavailable: 2}
	for _, c := range []struct {
		name string
		p    Policy
		seen map[string]Progress
		want Turn
	}{
		{"at the start", Policy{Limits: two}, nil, Turn{Start: []string{"a"}}},
		{"paused", Policy{Limits: two, Pause: true}, nil, Turn{Wait: &Wait{Reason: Paused}}},
		{"paused, and one runs", Policy{Limits: two, Pause: true}, map[string]Progress{"a": {State: Running}}, Turn{}},
		{"in the window", Policy{Limits: two, Window: window(t, []string{"Wed"}, "10:00", "13:00", "UTC")}, nil, Turn{Start: []string{"a"}}},
		{"before the window", Policy{Limits: two, Window: window(t, nil, "22:00", "04:00", "UTC")}, nil, Turn{Wait: &Wait{Reason: WindowClosed, Until: noon.Add(10 * time.Hour)}}},
		{"in another time zone", Policy{Limits: two, Window: window(t, nil, "13:30", "14:30", "Europe/Berlin")}, nil, Turn{Start: []string{"a"}}},
		{"the next wave starts by itself", Policy{Limits: two}, firstDone, Turn{Wave: 1, Start: []string{"b", "c"}}},
		{"the first one soaks", Policy{Limits: two, Waves: map[string]Pace{"first": {Soak: 3 * time.Hour}}}, firstDone, Turn{Wave: 1, Wait: &Wait{Reason: Soaking, Wave: "second", Until: noon.Add(2 * time.Hour)}}},
		{"it has soaked", Policy{Limits: two, Waves: map[string]Pace{"first": {Soak: time.Hour}}}, firstDone, Turn{Wave: 1, Start: []string{"b", "c"}}},
		{"a wave that was skipped does not soak", Policy{Limits: two, Waves: map[string]Pace{"first": {Soak: 3 * time.Hour}}}, map[string]Progress{"a": {State: Skipped, Since: noon}}, Turn{Wave: 1, Start: []string{"b", "c"}}},
		{"a manual wave", Policy{Limits: two, Waves: map[string]Pace{"second": {Manual: true}}}, firstDone, Turn{Wave: 1, Wait: &Wait{Reason: ApprovalRequired, Wave: "second"}}},
		{"a manual wave, approved", Policy{Limits: two, Waves: map[string]Pace{"second": {Manual: true}}, Approvals: []Approval{{Wave: "second"}}}, firstDone, Turn{Wave: 1, Start: []string{"b", "c"}}},
		{"another wave is approved", Policy{Limits: two, Starts: true, Approvals: []Approval{{Wave: "second"}}}, nil, Turn{Wait: &Wait{Reason: ApprovalRequired, Wave: "first"}}},
		{"a stage is not the wave", Policy{Limits: two, Starts: true, Approvals: []Approval{{"first", "install-ccm"}}}, nil, Turn{Wait: &Wait{Reason: ApprovalRequired, Wave: "first"}}},
		{"no stage is approved", Policy{Limits: two, Stages: true, Approvals: []Approval{{Wave: "first"}}}, nil, Turn{Wait: &Wait{Reason: ApprovalRequired, Wave: "first"}}},
		{"a stage is approved", Policy{Limits: two, Stages: true, Approvals: []Approval{{"first", "install-ccm"}}}, nil, Turn{Start: []string{"a"}}},
		{"a cluster is held before a stage", Policy{Limits: two, Stages: true}, held, Turn{Wave: 1, Wait: &Wait{Reason: ApprovalRequired, Wave: "second", Stage: "install-ccm"}}},
		{"its stage is approved", Policy{Limits: two, Stages: true, Approvals: []Approval{{"second", "install-ccm"}}}, held, Turn{Wave: 1, Start: []string{"b"}}},
		{"its stage is approved, and paused", Policy{Limits: two, Stages: true, Pause: true, Approvals: []Approval{{"second", "install-ccm"}}}, held, Turn{Wave: 1, Wait: &Wait{Reason: Paused}}},
		{"there is no room", Policy{Limits: Limits{Unavailable: 1}, Stages: true}, held, Turn{Wave: 1}},
		{"one is rolled back", Policy{Limits: two}, map[string]Progress{"a": {State: Reverting}}, Turn{Stopped: true}},
		{"one is rolled back, and may fail", Policy{Limits: Limits{Unavailable: 2, Failures: 1}}, map[string]Progress{"a": {State: Done}, "b": {State: Reverting}}, Turn{Wave: 1, Start: []string{"c"}}},
		{"too many failed", Policy{Limits: two, Pause: true}, map[string]Progress{"a": {State: Failed}}, Turn{Wave: 1, Stopped: true}},
		{"all have ended", Policy{Limits: two, Pause: true}, map[string]Progress{"a": {State: Done}, "b": {State: Skipped}, "c": {State: Done}}, Turn{Wave: 2}},
	} {
		got := c.p.Next(list, c.seen, noon)
		assert.Truef(t, reflect.DeepEqual(got, c.want), "%s: %+v %+v", c.name, got, got.Wait)
	}
}

func TestAWindowOpensAndClosesByTheClocksOfItsZone(t *testing.T) {
	at := func(text string) time.Time {
		return assert.Value(time.Parse(time.RFC3339, text))(t)
	}
	nights := window(t, []string{"Fri", "Sat"}, "22:00", "04:00", "Europe/Berlin")
	for _, c := range []struct {
		w    *Window
		at   string
		open bool
		next string
	}{
		{nights, "2026-07-17T19:59:59Z", false, "2026-07-17T20:00:00Z"},
		{nights, "2026-07-17T20:00:00Z", true, "2026-07-18T20:00:00Z"},
		{nights, "2026-07-19T01:59:59Z", true, "2026-07-24T20:00:00Z"}, // still that of Saturday
		{nights, "2026-07-19T02:00:00Z", false, "2026-07-24T20:00:00Z"},
		{nights, "2026-10-24T21:00:00Z", true, "2026-10-30T21:00:00Z"}, // a night with 25 hours
		{nights, "2026-10-25T02:59:59Z", true, "2026-10-30T21:00:00Z"},
		{nights, "2026-10-25T03:00:00Z", false, "2026-10-30T21:00:00Z"},
		{window(t, nil, "09:00", "17:00", "America/New_York"), "2026-01-05T13:59:00Z", false, "2026-01-05T14:00:00Z"},
		{window(t, []string{"Mon"}, "00:00", "00:00", "UTC"), "2026-07-20T23:59:59Z", true, "2026-07-27T00:00:00Z"},
		{window(t, []string{"Mon"}, "00:00", "00:00", "UTC"), "2026-07-21T00:00:00Z", false, "2026-07-27T00:00:00Z"},
	} {
		if open, next := c.w.Open(at(c.at)), c.w.Opens(at(c.at)); open != c.open || !next.Equal(at(c.next)) {
			t.Errorf("%s: %t, then %s", c.at, open, next)
		}
	}
	for _, c := range [][3]string{{"Sonday", "22:00", "04:00"}, {"Mon", "25:00", "04:00"}, {"Mon", "22:00", "4"}} {
		_, err := NewWindow([]string{c[0]}, c[1], c[2], time.UTC)
		assert.Truef(t, err != nil, "%v is a window", c)
	}
}

func TestAWindowIsOpenWhenItSaysThatItOpens(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		w := window(t, []string{days[random.IntN(7)]}, fmt.Sprintf("%02d:%02d", random.IntN(24), random.IntN(60)), fmt.Sprintf("%02d:%02d", random.IntN(24), random.IntN(60)), "Europe/Berlin")
		at := noon.Add(time.Duration(random.IntN(365*24*60)) * time.Minute)
		next := w.Opens(at)
		assert.Mustf(t, next.After(at) && w.Open(next) && next.Sub(at) <= 8*24*time.Hour, "%+v at %s opens at %s", w, at, next)
	}
}

func TestClustersArePutIntoWaves(t *testing.T) {
	even := func(c string) bool { return c == "b" || c == "d" }
	for _, c := range []struct {
		rules []Rule
		names []string
		want  string
	}{
		{nil, []string{"b", "a"}, "[{rest [a b] false}]"},
		{nil, nil, "[{rest [] false}]"},
		{[]Rule{{Name: "one", Size: 1}, {Name: "even", Matches: even}}, []string{"d", "c", "b", "a", "a"}, "[{one [a] false} {even [b d] false} {rest [c] false}]"},
		{[]Rule{{Name: "some", Percent: 34}, {Name: "all"}}, []string{"a", "b", "c", "d"}, "[{some [a b] false} {all [c d] false}]"},
		{[]Rule{{Name: "rest", Size: 1}}, []string{"a", "b"}, "[{rest [a] false} {rest-2 [b] false}]"},
		{[]Rule{{Name: "none", Matches: func(string) bool { return false }}, {Name: "all"}}, []string{"a"}, "[{none [] false} {all [a] false}]"},
	} {
		assert.Equal(t, fmt.Sprint(Assign(c.rules, c.names)), c.want, c.rules, c.names)
	}
}

func TestTheResultFollowsFromTheStates(t *testing.T) {
	list := []Wave{{Name: "w", Clusters: []string{"a", "b"}}}
	for _, c := range []struct {
		a, b State
		most int
		want [2]bool // complete, failed
	}{
		{Done, Running, 0, [2]bool{}}, {Done, Done, 0, [2]bool{true, false}}, {Done, Skipped, 0, [2]bool{true, false}},
		{Done, Failed, 0, [2]bool{false, true}}, {Done, Failed, 1, [2]bool{true, false}}, {Failed, Waiting, 0, [2]bool{false, true}}, {Done, Gated, 0, [2]bool{}},
	} {
		complete, failed := Result(list, map[string]Progress{"a": {State: c.a}, "b": {State: c.b}}, Limits{Failures: c.most})
		assert.Equal(t, [2]bool{complete, failed}, c.want, c.a, c.b, c.most)
	}
}

// Nothing starts that a policy forbids, whatever has happened before, and what waits has the reason.
func TestAPolicyKeepsWhatItForbids(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	states := []State{"", Waiting, Running, Done, Failed, Gated, Reverting, Skipped}
	for range 5000 {
		list := Split(clusters(1+random.IntN(8)), nil, 1+random.IntN(4))
		seen := map[string]Progress{}
		for _, w := range list {
			for _, c := range w.Clusters {
				seen[c] = Progress{State: states[random.IntN(len(states))], Stage: "install-ccm", Since: noon.Add(-time.Duration(random.IntN(100)) * time.Minute)}
			}
		}
		p := Policy{Limits: Limits{1 + random.IntN(3), random.IntN(4)}, Pause: random.IntN(8) == 0, Starts: random.IntN(2) == 0, Stages: random.IntN(2) == 0, Waves: map[string]Pace{}}
		for _, w := range list {
			p.Waves[w.Name] = Pace{Manual: random.IntN(4) == 0, Soak: time.Duration(random.IntN(3)) * 30 * time.Minute}
			for _, a := range []Approval{{Wave: w.Name}, {w.Name, "install-ccm"}} {
				if random.IntN(2) == 0 {
					p.Approvals = append(p.Approvals, a)
				}
			}
		}
		turn := p.Next(list, seen, noon)
		assert.Mustf(t, len(turn.Start) == 0 || !p.Pause && turn.Wait == nil && !turn.Stopped, "%+v %+v: %+v", p, seen, turn)
		for _, c := range turn.Start {
			w := list[turn.Wave]
			assert.Mustf(t, seen[c].State != Gated || !p.Stages || slices.Contains(p.Approvals, Approval{w.Name, "install-ccm"}), "%s starts before its stage is approved", c)
			assert.Mustf(t, begun(w, seen) || !p.Starts || slices.Contains(p.Approvals, Approval{Wave: w.Name}), "%s starts before its wave is approved", c)
			if turn.Wave > 0 && !begun(w, seen) {
				end := Ended(list[turn.Wave-1], seen)
				assert.Mustf(t, end.IsZero() || noon.Sub(end) >= p.Waves[list[turn.Wave-1].Name].Soak, "%s starts while the wave before it soaks", c)
			}
		}
	}
}
