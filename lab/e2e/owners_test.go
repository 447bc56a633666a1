// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/recorder"
)

// owners returns who owns the Services now.
func (s *scenario) owners() []string {
	s.Helper()
	timeline := s.timeline(recorder.Service, s.began)
	return timeline[len(timeline)-1].Owners
}

// owner returns the component that owns the Services now; "" for no one, or more than one.
func (s *scenario) owner() cluster.Component {
	s.Helper()
	if owners := s.owners(); len(owners) == 1 {
		return recorder.ComponentOf(owners[0])
	}
	return ""
}

// writers requires that the given components wrote to AWS in this order, that each writer was an owner then,
// and that there were never two.
func (s *scenario) writers(order ...cluster.Component) {
	s.Helper()
	s.neverTwo()
	var want []string
	for _, c := range order {
		want = append(want, string(c))
	}
	if writers := recorder.Writers(s.cluster.AWS.Writes()); !slices.Equal(writers, want) {
		s.Errorf("AWS was written to by %v, want %v", writers, want)
	}
}

// neverTwo requires that there were never two owners, and that each writer to AWS was one.
func (s *scenario) neverTwo() {
	s.Helper()
	for _, controller := range []string{recorder.Service, recorder.Route} {
		if _, _, two := recorder.Seconds(s.timeline(controller, s.began)); two > 0 {
			s.Errorf("%s had two owners for %.1f s\n%s", controller, two, s.timelineText())
		}
	}
	for _, stray := range recorder.Strays(s.timeline(recorder.Service, s.began), s.cluster.AWS.Writes(), s.slack()/2) {
		s.Errorf("%s wrote %s without owning the controllers", stray.Caller, stray.Action)
	}
}

// shortGaps requires that no one owned the controllers for no longer than it takes once managers have stopped
// to end. Where a manager follows one of its kind, it first wins its main lease and then sees the other
// expire; where the next machine is replaced in the meantime, all begins again.
func (s *scenario) shortGaps() {
	s.Helper()
	timeline := s.timeline(recorder.Service, s.began)
	for n, gap := range timeline {
		if len(gap.Owners) > 0 || n == 0 || n == len(timeline)-1 {
			continue
		}
		if quiet := s.quiet(gap); quiet > 2*(s.cluster.Timing.Takeover()+s.slack()) {
			s.Errorf("%.1f  no manager owned the controllers, and for %s no manager had ended", gap.From.Sub(s.began).Seconds(), quiet)
		}
	}
}

// quiet is the longest time of an interval in which no manager ended.
func (s *scenario) quiet(i recorder.Interval) time.Duration {
	cuts := []time.Time{i.From, i.To}
	for _, m := range s.cluster.Managers() {
		if ended, over := m.EndedAt(); over && ended.After(i.From) && ended.Before(i.To) {
			cuts = append(cuts, ended)
		}
	}
	slices.SortFunc(cuts, time.Time.Compare)
	var longest time.Duration
	for n := range cuts[1:] {
		longest = max(longest, cuts[n+1].Sub(cuts[n]))
	}
	return longest
}
