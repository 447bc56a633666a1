// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"slices"
	"sort"
	"time"
)

// Interval is a time in which the owners stayed the same.
type Interval struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Owners []string  `json:"owners"` // sorted
}

// Seconds returns how long the interval is.
func (i Interval) Seconds() float64 { return i.To.Sub(i.From).Seconds() }

// hold is a time in which a lease was live with one holder.
type hold struct {
	lease, holder string
	from, to      time.Time
}

// Timeline returns who owned a controller between two times, without a gap. A process owns it while it
// lives and the lease under which it runs it is live and held by it: the record changed within its duration.
// It fails where a lease has a holder that no process accounts for, once every process has had the time to
// say so.
func Timeline(changes []Change, processes []Process, controller string, from, to time.Time) ([]Interval, error) {
	holds := holdsOf(changes, to)
	who, err := identities(holds, processes, to)
	if err != nil {
		return nil, err
	}
	var owned []Interval
	for i, p := range processes {
		if !p.loops {
			continue
		}
		lock := p.lock(controller)
		if lock == "" {
			owned = append(owned, Interval{p.Started, p.until(to), []string{p.Name}})
		}
		for _, h := range holds {
			if holder, known := who[h.holder]; known && h.lease == lock && holder == i {
				owned = append(owned, Interval{h.from, earlier(h.to, p.until(to)), []string{p.Name}})
			}
		}
	}
	return sweep(owned, from, to), nil
}

func (p Process) until(to time.Time) time.Time {
	if p.Ended.IsZero() {
		return to
	}
	return earlier(p.Ended, to)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// holdsOf joins changes of a lease that follow each other while it is live with the same holder.
func holdsOf(changes []Change, to time.Time) []hold {
	var holds []hold
	last := map[string]int{} // hold by lease
	for _, c := range changes {
		i, open := last[c.Lease]
		if open {
			holds[i].to = earlier(holds[i].to, c.At)
		}
		if c.Holder == "" {
			delete(last, c.Lease)
			continue
		}
		if open && holds[i].holder == c.Holder && !holds[i].to.Before(c.At) {
			holds[i].to = c.At.Add(c.Duration)
			continue
		}
		holds = append(holds, hold{c.Lease, c.Holder, c.At, c.At.Add(c.Duration)})
		last[c.Lease] = len(holds) - 1
	}
	for i := range holds {
		holds[i].to = earlier(holds[i].to, to)
	}
	return holds
}

// sweep cuts the time wherever an ownership begins or ends.
func sweep(owned []Interval, from, to time.Time) []Interval {
	cuts := []time.Time{from, to}
	for _, o := range owned {
		for _, t := range []time.Time{o.From, o.To} {
			if t.After(from) && t.Before(to) {
				cuts = append(cuts, t)
			}
		}
	}
	sort.Slice(cuts, func(i, j int) bool { return cuts[i].Before(cuts[j]) })
	var out []Interval
	for i := range cuts[1:] {
		if !cuts[i].Before(cuts[i+1]) {
			continue
		}
		next := Interval{cuts[i], cuts[i+1], ownersAt(owned, cuts[i])}
		if n := len(out); n > 0 && slices.Equal(out[n-1].Owners, next.Owners) {
			out[n-1].To = next.To
			continue
		}
		out = append(out, next)
	}
	return out
}

func ownersAt(owned []Interval, t time.Time) []string {
	owners := []string{}
	for _, o := range owned {
		if !t.Before(o.From) && t.Before(o.To) {
			owners = append(owners, o.Owners...)
		}
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}
