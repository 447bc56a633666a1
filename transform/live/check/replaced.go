// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Replaced follows identities that hold leases, and the containers that may have
// them. A process takes its identity when it starts and keeps it, so an identity
// ends with its container, although its lease lasts longer. The zero Replaced has
// seen nothing. Times are of the machine that looks.
type Replaced struct {
	of map[string]*identity
}

// identity is a holder as it was first seen.
type identity struct {
	candidates []Process
	component  string // "" while it leads neither
	gone       time.Time
	// then is what it held in the first look that was requested after gone. What it
	// renews later it renews alive, and then it was none of the candidates.
	then map[string]observed.Lease
}

// Observe takes what was requested and answered at these times, and marks the leases of
// holders whose containers are all gone and who have not renewed since we saw that.
func (r *Replaced) Observe(asked, answered time.Time, processes []Process, leases []observed.Lease) []observed.Lease {
	held := map[string]map[string]observed.Lease{}
	for _, l := range leases {
		if l.Holder != "" {
			if held[l.Holder] == nil {
				held[l.Holder] = map[string]observed.Lease{}
			}
			held[l.Holder][l.Name] = l
		}
	}
	now := make(map[string]*identity, len(held))
	for holder, records := range held {
		now[holder] = r.of[holder].next(asked, answered, holder, processes, records)
	}
	r.of = now
	out := slices.Clone(leases)
	for i := range out {
		out[i].Replaced = out[i].Holder != "" && !now[out[i].Holder].gone.IsZero()
	}
	return out
}

// next is an identity after one more look; i is nil for one that is new.
func (i *identity) next(asked, answered time.Time, holder string, processes []Process, records map[string]observed.Lease) *identity {
	component := leadBy(processes, func(main string) bool { _, is := records[main]; return is })
	switch {
	case i == nil, component != "" && i.component == "", len(i.candidates) == 0: // its pod may show later than its lease
		i = newIdentity(holder, component, processes)
	case !i.gone.IsZero() && i.then == nil && !asked.Before(i.gone):
		i.then = records
	case i.then != nil && renewed(i.then, records):
		i = newIdentity(holder, i.component, processes)
	}
	over := len(i.candidates) > 0 && !slices.ContainsFunc(i.candidates, func(c Process) bool { return !c.gone(processes) })
	if over && i.gone.IsZero() {
		i.gone = answered
	}
	return i
}

// newIdentity takes all for candidates that run now: those on the holder's host, or
// every one where none has a host of that name.
func newIdentity(holder, component string, processes []Process) *identity {
	mine := slices.DeleteFunc(slices.Clone(processes), func(p Process) bool { return component != "" && p.Component != component || p.Ended })
	there := slices.DeleteFunc(slices.Clone(mine), func(p Process) bool { return !p.onHostOf(holder) })
	if len(there) > 0 {
		mine = there
	}
	return &identity{component: component, candidates: mine}
}

func renewed(then, now map[string]observed.Lease) bool {
	for name, l := range now {
		if before, there := then[name]; !there || !before.SameRecord(l) {
			return true
		}
	}
	return false
}

// gone reports whether the container has ended: it says so, another one is in its
// pod, or its pod is gone. A static pod's mirror may go and come back while the
// container runs.
func (p Process) gone(processes []Process) bool {
	if p.Container == "" { // no kubelet has reported it
		return false
	}
	there, followed := false, false
	for _, o := range processes {
		switch {
		case o.Container == p.Container:
			return o.Ended
		case o.Path() == p.Path():
			there, followed = true, followed || o.Container != ""
		}
	}
	return followed || !there && !p.Mirror
}

// same reports whether two looks show the same process.
func (p Process) same(o Process) bool {
	return p.Container == o.Container && (p.Container != "" || p.Path() == o.Path() && slices.Equal(p.Manager.Args, o.Manager.Args))
}
