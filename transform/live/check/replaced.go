// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Replaced follows identities that hold leases, and the containers that may have
// them. A process takes its identity when it starts and keeps it, so an identity
// ends with its container, although its lease lasts longer. The zero Replaced has
// seen nothing. Times are of the machine that looks.
type Replaced struct{ of map[string]*identity }

// identity is a holder as it was first seen.
type identity struct {
	candidates []candidate
	component  string // "" while it leads neither
	ended      time.Time
	// then is what it held in the first observation that was requested after gone. What it
	// renews later it renews alive, and then it was none of the candidates.
	then []observed.Lease
}

// candidate is a container that may have an identity.
type candidate struct {
	container string // "" for one that no kubelet has reported
	pod       string
	mirror    bool
}

// Observe takes what was requested and answered at these times, and marks the leases of
// holders whose containers are all gone and who have not renewed since we saw that.
func (r *Replaced) Observe(asked, answered time.Time, processes []Process, leases []observed.Lease) []observed.Lease {
	held := map[string][]observed.Lease{}
	for _, l := range leases {
		if l.Holder != "" {
			held[l.Holder] = append(held[l.Holder], l)
		}
	}
	now := make(map[string]*identity, len(held))
	for holder, records := range held {
		now[holder] = r.of[holder].next(asked, answered, holder, processes, records)
	}
	r.of = now
	out := slices.Clone(leases)
	for i := range out {
		out[i].Replaced = out[i].Holder != "" && !now[out[i].Holder].ended.IsZero()
	}
	return out
}

// next is an identity after one more observation; i is nil for one that is new.
func (i *identity) next(asked, answered time.Time, holder string, processes []Process, records []observed.Lease) *identity {
	component := leads(processes, records)
	switch {
	case i == nil, component != "" && i.component == "", len(i.candidates) == 0: // its pod may show later than its lease
		i = newIdentity(holder, component, processes)
	case !i.ended.IsZero() && i.then == nil && !asked.Before(i.ended):
		i.then = records
	case i.then != nil && renewed(i.then, records):
		i = newIdentity(holder, i.component, processes)
	}
	if i.ended.IsZero() && i.over(processes) {
		i.ended = answered
	}
	return i
}

// newIdentity takes all for candidates that run now: those on the holder's host, or
// every one where none has a host of that name.
func newIdentity(holder, component string, processes []Process) *identity {
	mine := lists.Where(processes, func(p Process) bool { return (component == "" || p.Component == component) && !p.Ended })
	there := lists.Where(mine, func(p Process) bool { return p.onHostOf(holder) })
	if len(there) > 0 {
		mine = there
	}
	return &identity{component: component, candidates: lists.Map(mine, func(p Process) candidate { return candidate{p.Container, p.Path(), p.Mirror} })}
}

// leads names the component whose main lease is among the records, or "".
func leads(processes []Process, records []observed.Lease) string {
	return ofMain(processes, func(main string) bool {
		return slices.ContainsFunc(records, func(l observed.Lease) bool { return l.Name == main })
	})
}

// renewed reports whether a record is there now that was not there then.
func renewed(then, now []observed.Lease) bool {
	return slices.ContainsFunc(now, func(l observed.Lease) bool {
		return !slices.ContainsFunc(then, func(before observed.Lease) bool { return before.Name == l.Name && before.SameRecord(l) })
	})
}

// over reports whether there were candidates, and all of them are gone.
func (i *identity) over(processes []Process) bool {
	return len(i.candidates) > 0 && !slices.ContainsFunc(i.candidates, func(c candidate) bool { return !c.ended(processes) })
}

// ended reports whether the container has ended: it says so, another one is in its
// pod, or its pod is gone. A static pod's mirror may go and come back while the
// container runs.
func (c candidate) ended(processes []Process) bool {
	if c.container == "" {
		return false
	}
	there, followed := false, false
	for _, p := range processes {
		switch {
		case p.Container == c.container:
			return p.Ended
		case p.Path() == c.pod:
			there, followed = true, followed || p.Container != ""
		}
	}
	return followed || !there && !c.mirror
}
