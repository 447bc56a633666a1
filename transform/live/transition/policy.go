// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"slices"
	"time"
)

// Policy decides over a run of many clusters that lasts: in addition to its limits, by the time
// and by what people have approved.
type Policy struct {
	Limits
	Pause     bool
	Window    *Window // nil for always
	Stages    bool    // each stage of a wave requires an approval
	Starts    bool    // the start of each wave does
	Waves     map[string]Pace
	Approvals []Approval
}

// Pace is what a wave waits for, by its name.
type Pace struct {
	Manual bool          // its start requires an approval
	Soak   time.Duration // between its end and the start of the next one
}

// Approval permits a wave to start, or a stage in it.
type Approval struct{ Wave, Stage string }

// Progress is how far a cluster is.
type Progress struct {
	State State
	Stage string    // before which it is held
	Since time.Time // when it came to that state
}

// Reason is why nothing starts, in the form of the reason of a condition.
type Reason string

// The reasons.
const (
	Paused           Reason = "Paused"
	WindowClosed     Reason = "WindowClosed"
	Soaking          Reason = "Soaking"
	ApprovalRequired Reason = "ApprovalRequired"
)

// Wait is what a start waits for.
type Wait struct {
	Reason      Reason
	Wave, Stage string    // what has to be approved
	Until       time.Time // when it may start; zero if that depends on people
}

// Next decides what is next at a time.
func (p Policy) Next(list []Wave, seen map[string]Progress, at time.Time) Turn {
	all := next(list, seen, p.Limits, func(string) bool { return true })
	if len(all.Start) == 0 {
		return all
	}
	w := list[all.Wave]
	if all.Wait = p.start(list, all.Wave, seen, at); all.Wait != nil {
		all.Start = nil
		return all
	}
	var kept []*Wait
	t := next(list, seen, p.Limits, func(c string) bool {
		if seen[c].State != Gated {
			return true
		}
		wait := p.Stage(w.Name, seen[c].Stage, at)
		if wait != nil {
			kept = append(kept, wait)
		}
		return wait == nil
	})
	if len(t.Start) == 0 && len(kept) > 0 {
		t.Wait = kept[0]
	}
	return t
}

// start is what keeps the clusters of a wave from starting.
func (p Policy) start(list []Wave, n int, seen map[string]Progress, at time.Time) *Wait {
	if wait := p.closed(at); wait != nil {
		return wait
	}
	w := list[n]
	if begun(w, seen) {
		return nil
	}
	if until := p.rested(list[:n], seen); at.Before(until) {
		return &Wait{Reason: Soaking, Wave: w.Name, Until: until}
	}
	switch {
	case (p.Starts || p.Waves[w.Name].Manual) && !slices.Contains(p.Approvals, Approval{Wave: w.Name}),
		p.Stages && !slices.ContainsFunc(p.Approvals, func(a Approval) bool { return a.Wave == w.Name && a.Stage != "" }):
		return &Wait{Reason: ApprovalRequired, Wave: w.Name}
	}
	return nil
}

// Stage is what keeps a stage of a wave from beginning; nil if nothing does.
func (p Policy) Stage(wave, stage string, at time.Time) *Wait {
	if wait := p.closed(at); wait != nil {
		return wait
	}
	if p.Stages && !slices.Contains(p.Approvals, Approval{wave, stage}) {
		return &Wait{Reason: ApprovalRequired, Wave: wave, Stage: stage}
	}
	return nil
}

// closed is what keeps everything from beginning.
func (p Policy) closed(at time.Time) *Wait {
	switch {
	case p.Pause:
		return &Wait{Reason: Paused}
	case p.Window != nil && !p.Window.Open(at):
		return &Wait{Reason: WindowClosed, Until: p.Window.Opens(at)}
	}
	return nil
}

// begun reports whether a cluster of a wave has started.
func begun(w Wave, seen map[string]Progress) bool {
	return slices.ContainsFunc(w.Clusters, func(c string) bool {
		s := seen[c].State
		return s != "" && s != Waiting && s != Skipped
	})
}

// rested is when the waves before one have ended and rested.
func (p Policy) rested(before []Wave, seen map[string]Progress) (until time.Time) {
	for _, w := range before {
		if end := Ended(w, seen); !end.IsZero() && end.Add(p.Waves[w.Name].Soak).After(until) {
			until = end.Add(p.Waves[w.Name].Soak)
		}
	}
	return until
}

// Ended is when the last cluster of a wave ended that was started; zero if one has not, or none was.
func Ended(w Wave, seen map[string]Progress) (last time.Time) {
	for _, c := range w.Clusters {
		s := seen[c]
		if !s.State.Ended() {
			return time.Time{}
		}
		if s.State != Skipped && s.Since.After(last) {
			last = s.Since
		}
	}
	return last
}

// Result reports whether a run over many clusters is complete, as all have ended and no more failed than are tolerated, or
// has failed, as more did.
func Result(list []Wave, seen map[string]Progress, l Limits) (complete, failed bool) {
	failed = tooMany(list, seen, l)
	return !failed && current(list, seen) == len(list), failed
}

// Window is a time of the day, on some days of the week.
type Window struct {
	days     []time.Weekday // on which it opens; all if there are none
	from, to time.Duration  // since midnight
	zone     *time.Location
}

// clock is the form of a time of the day.
const clock = "15:04"

// days are the names of the days of the week.
var days = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// NewWindow makes a window that opens and closes at times such as 22:00. One that closes no
// later than it opens does so on the next day.
func NewWindow(on []string, from, to string, zone *time.Location) (*Window, error) {
	w := &Window{zone: zone}
	for _, name := range on {
		day := slices.Index(days, name)
		if day < 0 {
			return nil, fmt.Errorf("%q is not a day; use Mon, Tue, Wed, Thu, Fri, Sat or Sun", name)
		}
		w.days = append(w.days, time.Weekday(day))
	}
	for _, end := range []struct {
		text string
		to   *time.Duration
	}{{from, &w.from}, {to, &w.to}} {
		t, err := time.Parse(clock, end.text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a time of the day; use hours and minutes, such as 22:00", end.text)
		}
		*end.to = time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	}
	return w, nil
}

// Open reports whether the window is open.
func (w *Window) Open(at time.Time) bool {
	for _, since := range []int{0, -1} { // it may have opened yesterday
		if from, to, opens := w.on(at, since); opens && !at.Before(from) && at.Before(to) {
			return true
		}
	}
	return false
}

// Opens is when the window opens next.
func (w *Window) Opens(at time.Time) time.Time {
	const week = 7
	for after := range week + 1 {
		if from, _, opens := w.on(at, after); opens && from.After(at) {
			return from
		}
	}
	return time.Time{}
}

// on is the window of a day, so many days after a time.
func (w *Window) on(at time.Time, after int) (from, to time.Time, opens bool) {
	local := at.In(w.zone)
	year, month, day := local.Date()
	from = w.time(year, month, day+after, w.from)
	next := 0
	if w.to <= w.from {
		next = 1
	}
	to = w.time(year, month, day+after+next, w.to)
	noon := time.Date(year, month, day+after, 12, 0, 0, 0, w.zone)
	return from, to, len(w.days) == 0 || slices.Contains(w.days, noon.Weekday())
}

// time is a time of a day by the clocks there, which is not always so long after midnight.
func (w *Window) time(year int, month time.Month, day int, since time.Duration) time.Time {
	return time.Date(year, month, day, int(since/time.Hour), int(since%time.Hour/time.Minute), 0, 0, w.zone)
}
