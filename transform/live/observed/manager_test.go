// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestALeaseIsLiveWhenWeSawItChange(t *testing.T) {
	start := time.Date(2025, 3, 11, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name         string
		observations []string // renewals at the seconds of the observations: "" is no lease, - is one without a holder
		every        time.Duration
		want         Life
	}{
		{"one look tells nothing", []string{"a"}, time.Second, Unknown},
		{"a change is a sign of life", []string{"a", "b"}, time.Second, Live},
		{"for as long as the lease lasts", []string{"a", "b", "b", "b", "b"}, 4 * time.Second, Live},
		{"and no longer", []string{"a", "b", "b", "b", "b", "b"}, 4 * time.Second, Dead},
		{"a record that never changes is of a dead holder", []string{"a", "a", "a", "a", "a"}, 4 * time.Second, Dead},
		{"before its time ends it is unknown", []string{"a", "a", "a"}, 4 * time.Second, Unknown},
		{"a lease that is made now is live", []string{"", "a"}, time.Second, Live},
		{"a lease without a holder is not", []string{"a", "-"}, time.Second, Dead},
		{"a change after a long time without a look proves nothing", []string{"a", "b"}, 6 * time.Second, Unknown},
		{"nor does a lease that is new after it", []string{"", "a"}, 6 * time.Second, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Watch
			var got []Lease
			for i, r := range c.observations {
				l := Lease{Name: "l", Holder: "another", DurationSeconds: 15}
				if r == "-" {
					l.Holder = ""
				}
				if r != "" {
					l.Renewed = start.Add(-time.Duration(r[0]) * time.Hour) // another clock
				}
				list := []Lease{l}
				if r == "" {
					list = nil
				}
				at := start.Add(time.Duration(i) * c.every)
				got = w.Observe(at, at, list)
			}
			life := got[0].Life()
			assert.Truef(t, life == c.want, "%s, not %s: %+v", life, c.want, got[0])
		})
	}
}

// An observation is a question and an answer, in seconds from the first one; the record is
// of a moment between the two.
type slowObserve struct {
	asked, answered int
	record          string
}

func TestASlowAnswerProvesNoMoreThanItsQuestion(t *testing.T) {
	start := time.Date(2025, 3, 11, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name         string
		observations []slowObserve
		want         Life
	}{
		{"a slow answer may be from before the silence was over", []slowObserve{{0, 0, "a"}, {1, 1, "b"}, {2, 20, "b"}}, Live},
		{"one that was asked for after it is not", []slowObserve{{0, 0, "a"}, {1, 1, "b"}, {16, 17, "b"}}, Dead},
		{"a change between two slow answers may be old", []slowObserve{{0, 4, "a"}, {5, 9, "b"}}, Unknown},
		{"one that came soon after its question is not", []slowObserve{{0, 1, "a"}, {2, 4, "b"}}, Live},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Watch
			var got []Lease
			for _, l := range c.observations {
				record := Lease{Name: "l", Holder: "another", DurationSeconds: 15, Renewed: start.Add(-time.Duration(l.record[0]) * time.Hour)}
				got = w.Observe(start.Add(time.Duration(l.asked)*time.Second), start.Add(time.Duration(l.answered)*time.Second), []Lease{record})
			}
			life := got[0].Life()
			assert.Truef(t, life == c.want, "%s, not %s: %+v", life, c.want, got[0])
		})
	}
}
