// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observation

import "time"

// Watch follows leases from look to look and says how they moved. The zero Watch
// has seen nothing. Times are of the machine that looks.
type Watch struct {
	seen map[string]sight
	last time.Time // when the last look began
}

// Blind is the longest time from the beginning of a look to the end of the next. A
// change after a longer one is no sign of life: it may be nearly as old.
const Blind = 5 * time.Second

type sight struct {
	record  Lease
	since   time.Time
	changed bool
}

// Observe takes the records that were requested and answered at these times, and
// returns them with how each was seen to move. A lease that was not there before
// has changed. A slow answer may be as old as its question, so it proves silence
// only up to then.
func (w *Watch) Observe(asked, answered time.Time, records []Lease) []Lease {
	near := !w.last.IsZero() && answered.Sub(w.last) <= Blind
	now := make(map[string]sight, len(records))
	out := make([]Lease, len(records))
	for i, r := range records {
		s, known := w.seen[r.Name]
		if !known || !s.record.SameRecord(r) {
			s = sight{r, answered, near}
		}
		now[r.Name] = s
		r.Changed, r.SilentSeconds = s.changed, max(0, asked.Sub(s.since).Seconds())
		out[i] = r
	}
	w.seen, w.last = now, asked
	return out
}
