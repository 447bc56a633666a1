// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Sample is what was seen at one moment, by the clock of who looked.
type Sample struct {
	Asked    time.Time // when the answers were requested; the zero time means At
	At       time.Time // when all of them were there
	Leases   []observed.Lease
	Managers []observed.Manager
	// Given are the arguments that kube-controller-manager may have where it is no pod.
	Given []Given
}

// Timeline turns observations into intervals. An observation that failed is left out; where two
// observations are further apart than observed.Blind, no one knows what was between
// them.
type Timeline struct {
	Handovers []Handover

	watch    observed.Watch
	replaced Replaced
	ages     ages
	last     *moment
	queue    []moment               // not reported yet, the oldest first
	pending  map[string]*resolution // leases that did not move yet
	holders  map[string]string      // identities by component, as far as seen
	lease    holding
	done     []Interval
}

// moment is an observation with the time until the next one.
type moment struct {
	asked     time.Time
	at, to    time.Time
	processes []Process
	leases    map[string]held
	blind     string // why nothing is known
}

type held struct {
	leaseHolder
	pending *resolution // decides whether it is alive
}

// resolution is whether a lease was live before it was seen to move.
type resolution struct {
	holder string
	life   observed.Life // "" before it is known
}

// Add takes the next sample, and returns the intervals that it completes. Samples
// come in the order of their times.
func (t *Timeline) Add(s Sample) []Interval {
	if s.Asked.IsZero() {
		s.Asked = s.At
	}
	if t.last != nil {
		t.close(s.At)
	}
	m := moment{asked: s.Asked, at: s.At, processes: processesOf(s.Managers, s.Given), leases: map[string]held{}}
	leases := t.replaced.Observe(s.Asked, s.At, m.processes, t.watch.Observe(s.Asked, s.At, s.Leases))
	for _, r := range leases {
		h := t.held(r)
		h.Since = t.ages.of(r.Name+" "+r.Holder, s.At)
		m.leases[r.Name] = h
	}
	for i := range m.processes {
		p := &m.processes[i]
		p.Since = t.ages.of(cmp.Or(p.Container, p.Path()+" "+strings.Join(p.Manager.Args, " ")), s.At)
	}
	t.ages.began = true
	for name, r := range t.pending {
		if _, there := m.leases[name]; !there {
			r.life = observed.Unknown
			delete(t.pending, name)
		}
	}
	t.last = &m
	t.follow(m, leases)
	return t.completed()
}

// Lost closes the timeline of a cluster that can no longer be looked at: what came
// after the last observation stays unknown.
func (t *Timeline) Lost(at time.Time) []Interval {
	if t.last != nil {
		t.last.blind = unseen
	}
	return t.End(at)
}

// End closes the timeline; what is not known by now stays unknown.
func (t *Timeline) End(at time.Time) []Interval {
	if t.last != nil {
		t.close(at)
	}
	t.resolveAll()
	all := append(t.completed(), t.done...)
	t.done = nil
	return all
}

// close ends the last moment. After a time without observations everything begins again.
func (t *Timeline) close(at time.Time) {
	m := *t.last
	m.to, t.last = at, nil
	if at.Sub(m.asked) > observed.Blind {
		m.blind = unseen
		t.resolveAll()
		t.watch, t.replaced, t.ages, t.lease = observed.Watch{}, Replaced{}, ages{}, holding{}
	}
	t.queue = append(t.queue, m)
}

func (t *Timeline) resolveAll() {
	for _, r := range t.pending {
		r.life = observed.Unknown
	}
	t.pending = nil
}

const unseen = "the cluster could not be observed"

// held returns a lease as it is now. One that has not moved yet was alive if its
// holder renews it in time.
func (t *Timeline) held(l observed.Lease) held {
	life := l.Life()
	if life != observed.Unknown {
		if r := t.pending[l.Name]; r != nil {
			r.life = observed.Unknown
			if life == observed.Live && r.holder == l.Holder {
				r.life = observed.Live
			}
			delete(t.pending, l.Name)
		}
		return held{leaseHolder: leaseHolder{Holder: l.Holder, Life: life}}
	}
	if t.pending == nil {
		t.pending = map[string]*resolution{}
	}
	if t.pending[l.Name] == nil {
		t.pending[l.Name] = &resolution{holder: l.Holder}
	}
	return held{leaseHolder{Holder: l.Holder, Life: life}, t.pending[l.Name]}
}

// completed evaluates the moments that are decided, and returns the intervals that no
// later moment can extend.
func (t *Timeline) completed() []Interval {
	for len(t.queue) > 0 && t.queue[0].decided() {
		m, s := t.queue[0], t.queue[0].evaluate()
		t.queue = t.queue[1:]
		if n := len(t.done); n > 0 && t.done[n-1].Same(s) {
			t.done[n-1].To = m.to
		} else {
			t.done = append(t.done, Interval{m.at, m.to, s})
		}
	}
	if len(t.done) < 2 {
		return nil
	}
	n := len(t.done) - 1
	out := t.done[:n:n]
	t.done = t.done[n:]
	return out
}

func (m moment) decided() bool {
	for _, h := range m.leases {
		if h.pending != nil && h.pending.life == "" {
			return m.blind != ""
		}
	}
	return true
}

func (m moment) evaluate() Ownership {
	if m.blind != "" {
		return Ownership{Unknown: m.blind, Owners: []string{}}
	}
	return ownersOf(m.processes, func(name string) leaseHolder {
		h, found := m.leases[name]
		if !found {
			return leaseHolder{Life: observed.Dead}
		}
		if h.pending != nil {
			h.Life = h.pending.life
		}
		return h.leaseHolder
	})
}

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
