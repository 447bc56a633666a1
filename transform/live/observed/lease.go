// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observed

import "time"

// Lease is the record of a lease and how it was seen to move.
type Lease struct {
	Name            string    `json:"name"`
	Holder          string    `json:"holder"`
	DurationSeconds int       `json:"durationSeconds"`
	Renewed         time.Time `json:"renewed,omitzero"` // by the holder's clock, so for people only
	Acquired        time.Time `json:"acquired,omitzero"`
	Transitions     int       `json:"transitions"`
	// Changed means that the record was seen to change, and SilentSeconds for how
	// long it has not: since that change, or since the first observation.
	Changed       bool    `json:"changed"`
	SilentSeconds float64 `json:"silentSeconds"`
	// Replaced means that the container of the holder was seen replaced, and that the
	// holder has not renewed since.
	Replaced bool `json:"replaced,omitempty"`
}

// Life reports whether a lease is held by someone alive.
type Life string

// A lease is live when its record changed within its duration as we saw it:
// clocks of different machines are never compared. Before it changed, or was
// silent for that long, no one knows.
const (
	Live    Life = "live"
	Dead    Life = "dead"
	Unknown Life = "unknown"
)

// usualDuration is that of a lease whose record does not state one, in seconds
// (k8s.io/component-base/config).
const usualDuration = 15

// Life returns whether the lease is live.
func (l Lease) Life() Life {
	duration := l.DurationSeconds
	if duration <= 0 {
		duration = usualDuration
	}
	switch {
	case l.Holder == "", l.Replaced, l.SilentSeconds >= float64(duration):
		return Dead
	case l.Changed:
		return Live
	}
	return Unknown
}

// SameRecord reports whether two observations found the same record.
func (l Lease) SameRecord(o Lease) bool {
	return l.Holder == o.Holder && l.Renewed.Equal(o.Renewed) && l.Transitions == o.Transitions && l.Acquired.Equal(o.Acquired)
}

// Watch follows leases from observation to observation and says how they moved. The zero Watch
// has seen nothing. Times are of the machine that looks.
type Watch struct {
	seen map[string]sight
	last time.Time // when the last observation began
}

// Blind is the longest time from the beginning of an observation to the end of the next. A
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
