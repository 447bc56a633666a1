// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "slices"

// Causes returns the processes that own one of some controllers. Where it cannot be
// shown which pod leads, all that may are returned; a pod that only waits is not.
func Causes(processes []Process, leases Leases, of []Controller) []Process {
	return slices.DeleteFunc(slices.Clone(processes), func(p Process) bool {
		return !slices.ContainsFunc(p.owned(processes, leases), func(c Controller) bool { return slices.Contains(of, c) })
	})
}

// owned returns what a process owns if it is the one that leads.
func (p Process) owned(processes []Process, leases Leases) []Controller {
	if !p.Elects {
		if !p.Running {
			return nil
		}
		return p.with(UnderMain)
	}
	main := leases(p.Main)
	rivals := slices.DeleteFunc(slices.Clone(processes), func(o Process) bool {
		return !o.Elects || o.Component != p.Component || o.Main != p.Main
	})
	if main.Holder == "" || !slices.ContainsFunc(leaders(rivals, main), func(o Process) bool { return o.Path() == p.Path() }) {
		return nil
	}
	owned, _ := p.owns(main, leases(p.Migration))
	return owned
}
