// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// leaseHolder is who holds a lease, and whether that one is alive.
type leaseHolder struct {
	Holder string
	Life   observed.Life
	// candidates are the processes that may be the holder; none where that was not followed.
	candidates []Process
}

// leaseFinder finds a lease by its name; one that is not there is held by no one.
type leaseFinder func(name string) leaseHolder

// leasesOf returns the leases of an observation.
func leasesOf(o *observed.Observation) leaseFinder {
	return func(name string) leaseHolder {
		l, there := o.Lease(name)
		if !there && !o.Looked(observed.Leases) {
			return leaseHolder{Life: observed.Unknown}
		}
		return leaseHolder{Holder: l.Holder, Life: l.Life()}
	}
}

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

	causes []Process // that own those with two owners
}

// Same reports whether two states say the same.
func (s Ownership) Same(o Ownership) bool {
	return s.Count == o.Count && s.Unknown == o.Unknown && slices.Equal(s.Owners, o.Owners) && slices.Equal(s.Doubled, o.Doubled)
}

// ownersOf reports who owns the controllers. All pods of both managers are given, and
// processes without a pod are known by the leases that they hold.
func ownersOf(processes []Process, leases leaseFinder) Ownership {
	owners := map[Controller][]owner{}
	inPlay := map[Controller]bool{}
	for _, component := range []string{observed.CloudManager, observed.KubeManager} {
		mine := slices.DeleteFunc(slices.Clone(processes), func(p Process) bool { return p.Component != component })
		for _, p := range mine {
			for c := range p.Modes { // one that is given to the other manager has to run there
				inPlay[c] = true
			}
		}
		found, why := ownersIn(component, mine, leases)
		if why != "" {
			return Ownership{Unknown: why, Owners: []string{}}
		}
		for _, o := range found {
			for _, c := range o.of {
				owners[c] = append(owners[c], o)
			}
		}
	}
	return count(owners, inPlay)
}

// owner is a process that owns controllers, or several of which one does.
type owner struct {
	of        []Controller
	processes []Process
}

func count(owners map[Controller][]owner, inPlay map[Controller]bool) Ownership {
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
		for _, o := range owners[c] {
			s.Owners = append(s.Owners, o.processes[0].Component)
			if len(owners[c]) > 1 {
				s.causes = append(s.causes, o.processes...)
			}
		}
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

// ownersIn returns the owners among the processes of one component, and why they
// cannot be determined.
func ownersIn(component string, processes []Process, leases leaseFinder) ([]owner, string) {
	var owners []owner
	for _, p := range processes {
		switch {
		case !p.Running, p.Elects && !p.unseen():
		case p.Unreadable != "":
			return nil, p.Unreadable
		default:
			owners = append(owners, owner{p.with(UnderMain), []Process{p}})
		}
	}
	for _, name := range Mains(component, processes) {
		leader, why := leaderBy(component, name, processes, leases)
		if why != "" {
			return nil, why
		}
		owners = append(owners, leader)
	}
	return owners, ""
}

// leaderBy returns what the leader of one main lease owns, and why that cannot be
// told.
func leaderBy(component, name string, processes []Process, leases leaseFinder) (owner, string) {
	main := leases(name)
	mine := slices.DeleteFunc(slices.Clone(processes), func(p Process) bool { return !p.Elects || p.Main != name })
	switch {
	case main.Holder == "", len(processes) == 0 && main.Life == observed.Dead,
		len(processes) > 0 && !slices.ContainsFunc(mine, func(p Process) bool { return !p.idle() }):
		return owner{}, ""
	}
	return agreed(component, flagged(leaders(mine, main), main, leases), main, leases)
}

// agreed returns what the leader owns, whichever of the candidates it is; where
// they would own different controllers it cannot be determined.
func agreed(component string, candidates []Process, main leaseHolder, leases leaseFinder) (owner, string) {
	if len(candidates) == 0 {
		return owner{}, "the arguments of " + component + " cannot be read: it holds a lease and has no pod"
	}
	var owned []Controller
	for i, p := range candidates {
		if p.Unreadable != "" {
			return owner{}, p.Unreadable
		}
		its, why := p.owns(main, leases(p.Migration))
		switch {
		case why != "":
			return owner{}, why
		case i > 0 && !slices.Equal(its, owned):
			return owner{}, differ(component, candidates)
		}
		owned = its
	}
	return owner{owned, candidates}, ""
}

// Mains returns the leases that a component leads by: its pods may name others
// than the usual one, and not all the same.
func Mains(component string, processes []Process) []string {
	var names []string
	for _, p := range processes {
		if p.Component == component && p.Elects {
			names = append(names, p.Main)
		}
	}
	if len(names) == 0 {
		return []string{component}
	}
	return lists.Distinct(names)
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
// HOST_UUID: the one on that host; else those that were there when it was first seen,
// for a process takes a new identity when it starts.
func leaders(all []Process, main leaseHolder) []Process {
	there := slices.DeleteFunc(slices.Clone(all), func(p Process) bool { return !p.onHostOf(main.Holder) })
	if len(there) == 1 {
		return there
	}
	older := slices.DeleteFunc(slices.Clone(all), func(p Process) bool { return !slices.ContainsFunc(main.candidates, p.same) })
	if len(older) > 0 {
		return older
	}
	return all // its pod was replaced, so the process is one of the past
}

// flagged drops those without the flag where the leader also holds the migration
// lease: without it no manager asks for that.
func flagged(candidates []Process, main leaseHolder, leases leaseFinder) []Process {
	holder := leases(MigrationLease(candidates)).Holder
	with := slices.DeleteFunc(slices.Clone(candidates), func(p Process) bool { return !p.Flag && !p.Hidden })
	if holder == "" || holder != main.Holder || len(with) == 0 {
		return candidates
	}
	return with
}

// differ reports why candidates do not tell what their leader owns.
func differ(component string, candidates []Process) string {
	from := slices.DeleteFunc(lists.Map(candidates, func(p Process) string { return p.From }), func(from string) bool { return from == "" })
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

// leadBy names the component that leads by a main lease that is so; "" for none.
func leadBy(processes []Process, is func(main string) bool) string {
	for _, c := range []string{observed.KubeManager, observed.CloudManager} {
		if slices.ContainsFunc(Mains(c, processes), is) {
			return c
		}
	}
	return ""
}
