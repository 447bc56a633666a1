// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "time"

// Interval is a time without a change of owners.
type Interval struct {
	From, To time.Time
	State
}

// Handover is a change of the holder of the migration lease.
type Handover struct {
	From, To string // components; "" where the identity is of neither
	// LastSign is the last change that the old holder made, FirstSign the first of
	// the new one: no one can have run the controllers for longer than between
	// the two.
	LastSign, FirstSign time.Time
}

// Seconds adds up intervals by their number of owners.
func Seconds(intervals []Interval) (owners [3]float64, unknown float64) {
	for _, i := range intervals {
		d := i.To.Sub(i.From).Seconds()
		if i.Unknown != "" {
			unknown += d
			continue
		}
		owners[i.Count] += d
	}
	return owners, unknown
}
