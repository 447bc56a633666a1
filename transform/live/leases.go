// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/observation"
	"github.com/rke-lm/rke-lm/transform/ownership"
)

// patience is for how long a lease may be without a live holder: no manager gives
// it back when it exits, so a takeover takes 15 to 20 seconds.
const patience = 30

func leasePath(name string) string { return leadermigration.Namespace + "/leases/" + name }

// Unsettled reports whether a further look at the leases can change the verdict.
func Unsettled(o *observation.Observation, c Choice) bool {
	j := newJudge(o, c)
	migration := j.lease().Name
	for _, name := range j.matter() {
		l, there := o.Lease(name)
		switch {
		case there && l.Life() == observation.Unknown:
			return true
		case there && name == migration && l.Life() == observation.Dead && l.SilentSeconds < patience && j.wanted():
			return true
		}
	}
	return false
}

// matter returns the leases that the verdict depends on: none where no migration
// is on its way and only one manager runs cloud loops.
func (j *judge) matter() []string {
	migration := j.lease()
	mains := []string{j.main(observation.KubeManager), j.main(observation.CloudManager)}
	unread := len(j.of(observation.KubeManager)) == 0 && migration.Holder != ""
	if j.wanted() || unread || slices.ContainsFunc(j.processes, hasFlag) {
		return append(mains, migration.Name)
	}
	if j.any(observation.KubeManager, hasLoops) && len(j.of(observation.CloudManager)) > 0 {
		return mains
	}
	return nil
}

func (j *judge) main(component string) string {
	for _, p := range j.of(component) {
		return p.Main
	}
	return component
}

// wanted reports whether somebody has to hold the migration lease.
func (j *judge) wanted() bool {
	if j.behind(transform.EnableLeaderMigration, transform.UncordonControlPlane) {
		return true
	}
	return slices.ContainsFunc(j.processes, hasFlag) || slices.ContainsFunc(j.cloud(), hasFlag)
}

func (j *judge) leaseOwnerless() []transform.Finding {
	if !j.wanted() {
		return nil
	}
	lease := j.lease()
	record, there := j.Lease(lease.Name)
	fix := "look at the logs of both managers, and whether they may lock the lease: kubectl auth can-i update leases/" + lease.Name + " -n " + leadermigration.Namespace + " --as " + leadermigration.ManagerUser
	path := leasePath(lease.Name)
	switch {
	case !there && j.Partial && len(j.Leases) == 0:
		return nil
	case !there:
		return []transform.Finding{found(path, "leader migration is on, and the migration lease is not there: the cloud controllers run nowhere", fix)}
	case lease.Life == observation.Live && lease.Owner != "":
		return nil
	case lease.Life == observation.Live:
		return []transform.Finding{found(path, fmt.Sprintf("the holder %s leads neither manager", lease.Holder), fix)}
	case lease.Life == observation.Dead && record.SilentSeconds >= patience:
		return []transform.Finding{found(path, fmt.Sprintf("nobody has held the migration lease for %.0f seconds: the cloud controllers run nowhere", record.SilentSeconds), fix)}
	}
	f := found(path, "one look does not tell whether the holder of the migration lease is alive", "look at the cluster itself: rke-lm verify follows the lease for as long as it takes")
	f.Severity = transform.Warning
	return []transform.Finding{f}
}

// expected returns the component that has to hold the migration lease; "" for
// either.
func (j *judge) expected() string {
	switch {
	case j.behind(transform.EnableLeaderMigration, transform.CordonControlPlane):
		return observation.KubeManager
	case j.behind(transform.SwitchToExternal, transform.UncordonControlPlane):
		return observation.CloudManager
	case j.behind(transform.DisableLeaderMigration, transform.VerifyProviderIDs) && j.any(observation.CloudManager, hasFlag):
		return observation.CloudManager
	case len(j.of(observation.KubeManager)) > 0 && !j.any(observation.KubeManager, hasLoops):
		return observation.CloudManager // the other one would hold it and run nothing
	}
	return ""
}

func (j *judge) leaseWrongOwner() []transform.Finding {
	lease, want := j.lease(), j.expected()
	if want == "" || lease.Owner == "" || lease.Owner == want || lease.Life == observation.Dead {
		return nil
	}
	message, fix := "the migration lease is held by "+lease.Owner+", and should be by "+want, "do not go on; see the guide for what the stage has to show, and undo the last stage if it does not come"
	if lease.Owner == observation.KubeManager && !j.any(observation.KubeManager, hasLoops) && j.any(observation.KubeManager, hasFlag) {
		message += ": an external kube-controller-manager holds it and runs nothing, so the cloud-controller-manager waits for ever"
		fix = "take enable-leader-migration off kube-controller-manager"
	}
	return []transform.Finding{found(leasePath(lease.Name), message, fix)}
}

// twoOwners takes leases that were looked at once for live: the arguments are
// evidence enough.
func (j *judge) twoOwners() []transform.Finding {
	s := ownership.Judge(j.processes, ownership.Assumed(j.leases))
	switch {
	case s.Unknown != "" && len(j.cloud()) > 0:
		f := found(leasePath(j.lease().Name), "whether both managers run the cloud controllers cannot be told: "+s.Unknown, "look at the arguments of the manager yourself, on its machine or in the cluster's YAML")
		f.Severity = transform.Note
		return []transform.Finding{f}
	case s.Unknown != "" || s.Count < 2:
		return nil
	}
	var names []string
	for _, c := range s.Doubled {
		names = append(names, string(c))
	}
	return []transform.Finding{found(leasePath(j.lease().Name),
		fmt.Sprintf("%s run in both managers at once: %s", strings.Join(names, ", "), strings.Join(j.reasons(s.Doubled), "; ")),
		"stop one of the two now: scale the cloud-controller-manager down, or give both the flag and configurations that list what they call these controllers")}
}

// reasons says how each manager comes to run a controller.
func (j *judge) reasons(doubled []ownership.Controller) []string {
	var list []string
	for _, component := range []string{observation.KubeManager, observation.CloudManager} {
		for _, p := range j.of(component) {
			list = append(list, component+" "+reason(p, doubled))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func reason(p ownership.Process, doubled []ownership.Controller) string {
	switch {
	case !p.Elects:
		return "has leader-elect=false"
	case !p.Flag:
		return "has no enable-leader-migration"
	case slices.ContainsFunc(doubled, func(c ownership.Controller) bool { return p.Modes[c] == ownership.UnderMain }):
		return "does not find them in its leader migration configuration"
	}
	return "holds the migration lease"
}

func (j *judge) leaseRBACMissing() []transform.Finding {
	var list []transform.Finding
	for _, user := range j.lockers() {
		var verbs []string
		for _, r := range j.Reviews {
			if r.User == user && !r.Allowed {
				verbs = append(verbs, r.Verb)
			}
		}
		if len(verbs) > 0 {
			list = append(list, found(leasePath(j.lease().Name), fmt.Sprintf("%s may not %s the migration lease", user, strings.Join(verbs, ", ")), "apply the stage grant-migration-lease, and look whether its Role and RoleBinding are there"))
		}
	}
	return list
}

// lockers are the users that have to lock the migration lease.
func (j *judge) lockers() []string {
	var users []string
	for _, p := range j.processes {
		if p.Flag || j.behind(transform.GrantMigrationLease, transform.UncordonControlPlane) && p.Loops {
			users = append(users, user(p))
		}
	}
	if j.behind(transform.GrantMigrationLease, transform.UncordonControlPlane) {
		users = append(users, leadermigration.CloudAccount())
		if len(j.of(observation.KubeManager)) == 0 {
			users = append(users, leadermigration.ManagerUser)
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// user is the identity of a process: that of its kubeconfig, or of its service
// account.
func user(p ownership.Process) string {
	_, configured := args.Last(p.Parsed(), "kubeconfig")
	if p.Account != "" && !configured {
		return leadermigration.ServiceAccount(p.Account)
	}
	if p.Component == observation.CloudManager {
		return leadermigration.CloudAccount()
	}
	return leadermigration.ManagerUser
}
