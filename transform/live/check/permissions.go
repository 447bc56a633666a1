// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// lock is a lease that a user has to lock.
type lock struct {
	user, lease string
	main        bool // it is the manager's own lease, not that of the migration
}

// Questions are the reviews that tell whether the managers may lock their leases: the
// migration lease, and the own one of the cloud-controller-manager. A create has no
// name, so it is asked once.
func Questions(managers []observed.Manager) []observed.AccessReview {
	processes := Processes(managers)
	locks := []lock{
		{leadermigration.ManagerUser, migrationOf(observed.KubeManager, processes), false},
		{leadermigration.CloudAccount(), migrationOf(observed.CloudManager, processes), false},
	}
	for _, p := range processes {
		lease := migrationOf(p.Component, processes)
		locks = append(locks, lock{user(p), lease, false})
		if p.Account != "" {
			locks = append(locks, lock{leadermigration.ServiceAccount(p.Space(), p.Account), lease, false})
		}
	}
	var list []observed.AccessReview
	for _, l := range unique(append(locks, mains(processes)...)) {
		for _, verb := range []string{"get", "create", "update"} {
			if verb != "create" || !l.main {
				list = append(list, observed.AccessReview{User: l.user, Verb: verb, Lease: l.lease})
			}
		}
	}
	return list
}

// migrationOf returns the migration lease that a component names, or the usual one.
func migrationOf(component string, processes []Process) string {
	p, _ := lists.Find(processes, func(p Process) bool { return p.Component == component && p.Flag })
	return cmp.Or(p.Migration, MigrationLease(processes))
}

// mains are the own leases of the cloud-controller-manager.
func mains(processes []Process) []lock {
	elect := lists.Where(processes, func(p Process) bool { return p.Component == observed.CloudManager && p.Elects && !p.unseen() })
	return lists.Map(elect, func(p Process) lock { return lock{user(p), p.Main, true} })
}

func unique(list []lock) []lock {
	slices.SortFunc(list, func(a, b lock) int {
		return strings.Compare(a.user+" "+a.lease, b.user+" "+b.lease)
	})
	return slices.Compact(list)
}

// refused returns the verbs that a user needs for a lock and does not have. An own
// lease that is there need not be created.
func (j *evaluation) refused(l lock) []string {
	_, there := j.Lease(l.lease)
	var verbs []string
	for _, r := range j.Reviews {
		create := r.Verb == "create" && l.main && !there
		if r.User == l.user && (r.Lease == l.lease || create) && !r.Allowed && !slices.Contains(verbs, r.Verb) {
			verbs = append(verbs, r.Verb)
		}
	}
	return verbs
}

// lockers have to lock the migration lease.
func (j *evaluation) lockers() []lock {
	var list []lock
	for _, p := range j.processes {
		switch {
		case p.Flag:
			list = append(list, lock{user(p), p.Migration, false})
		case j.Check.Granted && p.Loops:
			list = append(list, lock{user(p), migrationOf(p.Component, j.processes), false})
		}
	}
	if j.Check.Granted {
		if len(j.of(observed.CloudManager)) == 0 {
			list = append(list, lock{leadermigration.CloudAccount(), migrationOf(observed.CloudManager, j.processes), false})
		}
		if len(j.of(observed.KubeManager)) == 0 {
			list = append(list, lock{leadermigration.ManagerUser, migrationOf(observed.KubeManager, j.processes), false})
		}
	}
	return list
}

// user is the identity of a process: that of its kubeconfig, or of its service
// account.
func user(p Process) string {
	if p.Account != "" && !args.Has(p.args, "kubeconfig") {
		return leadermigration.ServiceAccount(p.Space(), p.Account)
	}
	if p.Component == observed.CloudManager {
		return leadermigration.CloudAccount()
	}
	return leadermigration.ManagerUser
}
