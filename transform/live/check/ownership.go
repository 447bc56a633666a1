// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// leaseHolder is who holds a lease, and whether that one is alive.
type leaseHolder struct {
	Holder string
	Life   observed.Life
	// Since is when the holder was first seen, by our clock; zero where it was
	// there from the first observation on.
	Since time.Time
}

// leaseFinder finds a lease by its name; one that is not there is held by no one.
type leaseFinder func(name string) leaseHolder

// leasesOf returns the leases of an observation.
func leasesOf(leases []observed.Lease) leaseFinder {
	return func(name string) leaseHolder {
		l, has := lists.Find(leases, func(l observed.Lease) bool { return l.Name == name })
		if !has {
			return leaseHolder{Life: observed.Dead}
		}
		return leaseHolder{Holder: l.Holder, Life: l.Life()}
	}
}

// notSeen are leases that no one looked at.
func notSeen(string) leaseHolder { return leaseHolder{Life: observed.Unknown} }

// assumed takes those for alive of whom it is not known.
func assumed(of leaseFinder) leaseFinder {
	return func(name string) leaseHolder {
		h := of(name)
		if h.Life == observed.Unknown {
			h.Life = observed.Live
		}
		return h
	}
}

// Ownership is who owns the migrated controllers at one moment.
type Ownership struct {
	Owners []string // components, sorted
	// Count is 2 when any controller has two owners, else 0 when any has none,
	// else 1; it says nothing where Unknown says why.
	Count   int
	Doubled []Controller // those with two owners
	Unknown string
}

// Same reports whether two states say the same.
func (s Ownership) Same(o Ownership) bool {
	return s.Count == o.Count && s.Unknown == o.Unknown && slices.Equal(s.Owners, o.Owners) && slices.Equal(s.Doubled, o.Doubled)
}

// ownersOf reports who owns the controllers. All pods of both managers are given, and
// processes without a pod are known by the leases that they hold.
func ownersOf(processes []Process, leases leaseFinder) Ownership {
	owners := map[Controller][]string{}
	inPlay := map[Controller]bool{}
	for _, component := range []string{observed.CloudManager, observed.KubeManager} {
		mine := lists.Where(processes, func(p Process) bool { return p.Component == component })
		for _, p := range mine {
			for c := range p.Modes { // one that is given to the other manager has to run there
				inPlay[c] = true
			}
		}
		owned, why := ownedBy(component, mine, leases)
		if why != "" {
			return Ownership{Unknown: why, Owners: []string{}}
		}
		for _, c := range owned {
			owners[c] = append(owners[c], component)
		}
	}
	return count(owners, inPlay)
}

func count(owners map[Controller][]string, inPlay map[Controller]bool) Ownership {
	s := Ownership{Owners: []string{}}
	gap, any := false, false
	for _, c := range controllers() {
		if !inPlay[c] {
			continue
		}
		any = true
		gap = gap || len(owners[c]) == 0
		if len(owners[c]) > 1 {
			s.Doubled = append(s.Doubled, c)
		}
		s.Owners = append(s.Owners, owners[c]...)
	}
	slices.Sort(s.Owners)
	s.Owners = slices.Compact(s.Owners)
	switch {
	case len(s.Doubled) > 0:
		s.Count = 2
	case any && !gap:
		s.Count = 1
	}
	return s
}

// ownedBy returns the controllers that the processes of one component own, and
// why that cannot be determined.
func ownedBy(component string, processes []Process, leases leaseFinder) ([]Controller, string) {
	var owned []Controller
	for _, p := range processes {
		switch {
		case !p.Running, p.Elects && !p.unseen():
		case p.Unreadable != "":
			return nil, p.Unreadable
		default:
			owned = append(owned, p.with(UnderMain)...)
		}
	}
	for _, name := range Mains(component, processes) {
		more, why := ledBy(component, name, processes, leases)
		if why != "" {
			return nil, why
		}
		owned = append(owned, more...)
	}
	return owned, ""
}

// ledBy returns what the leader of one main lease owns, and why that cannot be
// told.
func ledBy(component, name string, processes []Process, leases leaseFinder) ([]Controller, string) {
	main := leases(name)
	mine := lists.Where(processes, func(p Process) bool { return p.Elects && p.Main == name })
	switch {
	case main.Holder == "", len(processes) == 0 && main.Life == observed.Dead:
		return nil, ""
	case len(processes) > 0 && !slices.ContainsFunc(mine, func(p Process) bool { return !p.idle() }):
		return nil, ""
	}
	return agreed(component, flagged(leaders(mine, main), main, leases), main, leases)
}

// agreed returns what the leader owns, whichever of the candidates it is; where
// they would own different controllers it cannot be determined.
func agreed(component string, candidates []Process, main leaseHolder, leases leaseFinder) ([]Controller, string) {
	if len(candidates) == 0 {
		return nil, "the arguments of " + component + " cannot be read: it holds a lease and has no pod"
	}
	var owned []Controller
	for i, p := range candidates {
		if p.Unreadable != "" {
			return nil, p.Unreadable
		}
		its, why := p.owns(main, leases(p.Migration))
		switch {
		case why != "":
			return nil, why
		case i > 0 && !slices.Equal(its, owned):
			return nil, differ(component, candidates)
		}
		owned = its
	}
	return owned, ""
}

// Mains returns the leases that a component leads by: its pods may name others
// than the usual one, and not all the same.
func Mains(component string, processes []Process) []string {
	elect := lists.Where(processes, func(p Process) bool { return p.Component == component && p.Elects })
	if len(elect) == 0 {
		return []string{component}
	}
	return lists.Distinct(lists.Map(elect, func(p Process) string { return p.Main }))
}

// owns applies the definition to a leader.
func (p Process) owns(main, migration leaseHolder) ([]Controller, string) {
	underMain, underMigration := p.with(UnderMain), p.with(UnderMigration)
	holds := migration.Holder == main.Holder
	switch {
	case len(underMain) > 0 && main.Life == observed.Unknown:
		return nil, "it is not known yet whether the leader of " + p.Main + " is alive"
	case len(underMigration) > 0 && holds && migration.Life == observed.Unknown:
		return nil, "it is not known yet whether the holder of " + p.Migration + " is alive"
	}
	var owned []Controller
	if main.Life == observed.Live {
		owned = underMain
	}
	if holds && migration.Life == observed.Live {
		owned = append(owned, underMigration...)
	}
	return owned, ""
}

func (p Process) with(mode Mode) []Controller {
	return slices.DeleteFunc(controllers(), func(c Controller) bool { return p.Modes[c] != mode })
}

// leaders returns the candidates that may have the identity of a leader,
// HOST_UUID: the one on that host; else those whose pods are not younger than it,
// for a process takes a new identity when it starts.
func leaders(all []Process, main leaseHolder) []Process {
	there := lists.Where(all, func(p Process) bool { return p.onHostOf(main.Holder) })
	if len(there) == 1 {
		return there
	}
	older := lists.Where(all, func(p Process) bool { return !p.Since.After(main.Since) })
	if len(older) > 0 {
		return older
	}
	return all // its pod was replaced, so the process is one of the past
}

// flagged drops those without the flag where the leader also holds the migration
// lease: without it no manager asks for that.
func flagged(candidates []Process, main leaseHolder, leases leaseFinder) []Process {
	holder := leases(MigrationLease(candidates)).Holder
	with := lists.Where(candidates, func(p Process) bool { return p.Flag || p.Hidden })
	if holder == "" || holder != main.Holder || len(with) == 0 {
		return candidates
	}
	return with
}

// differ reports why candidates do not tell what their leader owns.
func differ(component string, candidates []Process) string {
	from := lists.Where(lists.Map(candidates, func(p Process) string { return p.From }), func(from string) bool { return from != "" })
	if len(from) == 0 {
		return fmt.Sprintf("the pods of %s have different arguments, and which of them is the leader is unknown", component)
	}
	return fmt.Sprintf("the arguments of %s are changing, and those of its leader are unknown: those of %s", component, strings.Join(from, ", or those of "))
}

// onHostOf reports whether a process runs on the host that an identity names.
func (p Process) onHostOf(identity string) bool {
	host, _, _ := strings.Cut(identity, "_")
	return slices.Contains(p.Hosts, host)
}

// leaseOf is the migration lease. Its owner is the component that has the identity in its record; "" where it is
// neither's. processes may name other leases.
func leaseOf(processes []Process, leases leaseFinder) Lease {
	name := MigrationLease(processes)
	held := leases(name)
	l := Lease{Name: name, Holder: held.Holder, Life: held.Life}
	if held.Holder != "" {
		l.Owner = ofMain(processes, func(main string) bool { return leases(main).Holder == held.Holder })
	}
	return l
}

// ofMain names the component of which a main lease is so; "" for none.
func ofMain(processes []Process, is func(main string) bool) string {
	component, _ := lists.Find([]string{observed.KubeManager, observed.CloudManager}, func(c string) bool {
		return slices.ContainsFunc(Mains(c, processes), is)
	})
	return component
}

// causesOf returns the processes that own one of some controllers. Where it cannot be
// shown which pod leads, all that may are returned; a pod that only waits is not.
func causesOf(processes []Process, leases leaseFinder, of []Controller) []Process {
	return lists.Where(processes, func(p Process) bool {
		return slices.ContainsFunc(p.owned(processes, leases), func(c Controller) bool { return slices.Contains(of, c) })
	})
}

// owned returns what a process owns if it is the one that leads.
func (p Process) owned(processes []Process, leases leaseFinder) []Controller {
	if !p.Elects {
		if !p.Running {
			return nil
		}
		return p.with(UnderMain)
	}
	main := leases(p.Main)
	rivals := lists.Where(processes, func(o Process) bool { return o.Elects && o.Component == p.Component && o.Main == p.Main })
	if main.Holder == "" || !slices.ContainsFunc(leaders(rivals, main), func(o Process) bool { return o.Path() == p.Path() }) {
		return nil
	}
	owned, _ := p.owns(main, leases(p.Migration))
	return owned
}

// ages remembers when pods and identities were first seen. A process takes a new
// identity when it starts, so a pod that came later is not that of an identity
// that was there before.
type ages struct {
	first map[string]time.Time
	began bool // a first observation was taken
}

// of returns when something was first seen; zero for the first observation.
func (a *ages) of(what string, now time.Time) time.Time {
	if at, known := a.first[what]; known {
		return at
	}
	if a.first == nil {
		a.first = map[string]time.Time{}
	}
	if !a.began {
		now = time.Time{}
	}
	a.first[what] = now
	return now
}
