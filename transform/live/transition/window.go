// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"slices"
	"time"
)

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
