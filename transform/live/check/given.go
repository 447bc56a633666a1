// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Given are the arguments of a manager that runs outside of pods, as RKE1's
// kube-controller-manager does, by what configures its machines.
type Given struct {
	From string // where they are written, for people
	Args []string
}

func (g Given) same(o Given) bool { return slices.Equal(g.Args, o.Args) }

// Versions are the arguments that machines may have while a change of them rolls out
// machine by machine, the oldest first.
type Versions []Given

// Written takes what a file says now. Until it changes again machines may have what it
// said before.
func (v Versions) Written(now Given) Versions {
	if len(v) == 0 {
		return Versions{now}
	}
	before := v[len(v)-1]
	if before.same(now) {
		return v
	}
	before.From = now.From + " before its last change"
	return Versions{before, now}
}

// Served takes from an object what shows how far a change has come. applied is
// what all machines had at one time, and open what some may have since. A version
// that is neither any more counts until there is nothing open.
func (v Versions) Served(applied Given, open ...Given) Versions {
	open = slices.DeleteFunc(open, applied.same)
	if len(open) == 0 {
		return Versions{applied}
	}
	for _, g := range append([]Given{applied}, open...) {
		if !slices.ContainsFunc(v, g.same) {
			v = append(v, g)
		}
	}
	return v
}

// processesOf reads managers that are pods and, where there are none of it, the
// kube-controller-manager whose arguments are given. Whether that one runs shows in
// its leases alone.
func processesOf(managers []observed.Manager, given []Given) []Process {
	list := Processes(managers)
	if slices.ContainsFunc(list, func(p Process) bool { return p.Component == observed.KubeManager }) {
		return list
	}
	for _, g := range given {
		p := ReadProcess(observed.Manager{Component: observed.KubeManager, Args: g.Args, Running: true})
		p.From = g.From
		if !p.Elects {
			p.Unreadable = p.Component + " elects no leader with " + g.From + ", and whether it runs is unknown"
		}
		list = append(list, p)
	}
	return list
}
