// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// holding is the migration lease as it was last seen to move.
type holding struct {
	record observed.Lease
	since  time.Time
}

// follow notes when the migration lease changes its holder. A lease that was
// given back keeps the name of who held it last.
func (t *Timeline) follow(m moment, leases []observed.Lease) {
	if t.holders == nil {
		t.holders = map[string]string{}
	}
	name := MigrationLease(m.processes)
	for _, c := range []string{observed.KubeManager, observed.CloudManager} {
		for _, main := range Mains(c, m.processes) {
			if holder := m.leases[main].Holder; holder != "" {
				t.holders[holder] = c
			}
		}
	}
	for _, l := range leases {
		if l.Name != name || l.Holder == "" || l.SameRecord(t.lease.record) {
			continue
		}
		if before := t.lease.record.Holder; before != "" && before != l.Holder {
			t.Handovers = append(t.Handovers, Handover{t.holders[before], t.holders[l.Holder], t.lease.since, m.at})
		}
		t.lease = holding{l, m.at}
	}
}

// Interval is a time without a change of owners.
type Interval struct {
	From, To time.Time
	Ownership
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
