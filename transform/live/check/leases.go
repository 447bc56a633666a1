// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// takeover is for how long a lease may be without a live holder: no manager gives
// it back when it exits, so a takeover takes 16 to 21 seconds.
const takeover = 30

// leaseRules are about the leases, and who owns the cloud controllers.
var leaseRules = []rule{
	{Rule: transform.Rule{ID: "cloud-controllers-nowhere", Severity: transform.Error, Guards: flagOn,
		Doc: "Leader migration is enabled, and the migration lease does not exist or is held by neither manager. Or its holder has not been alive for more than 30 seconds. A warning if a single reading, as in a dump, does not show it."}.Because(
		"No manager runs the cloud controllers: load balancers, routes and the removal of nodes do not run.", transform.SourceMigration, "Check the managers' logs for the lease, and the permission on it.", "If both managers are restarting, and another observation shows a leader."),
		Check: func(j *evaluation, found *transform.Findings) {
			if !j.wanted() {
				return
			}
			lease := j.lease()
			record, there := j.Lease(lease.Name)
			fix := "check the logs of both managers, and their permission on the lease: " +
				action.Command("kubectl auth can-i update leases/%s -n %s --as %s", lease.Name, leadermigration.Namespace, leadermigration.ManagerUser)
			path := leasePath(lease.Name)
			switch {
			case !there && !j.Saw(observed.Leases):
			case !there:
				found.On(path, "leader migration is enabled, and the migration lease does not exist: no manager runs the cloud controllers", fix)
			case lease.Life == observed.Live && lease.Owner != "":
			case lease.Life == observed.Live:
				found.On(path, fmt.Sprintf("the holder %s is the leader of neither manager", lease.Holder), fix)
			case lease.Life == observed.Dead && j.FollowedSeconds >= longEnough:
				found.On(path, fmt.Sprintf("in %.0f seconds no manager kept the migration lease: no manager runs the cloud controllers", j.FollowedSeconds), fix)
			case lease.Life == observed.Dead && record.SilentSeconds >= takeover:
				found.On(path, fmt.Sprintf("no manager has held the migration lease for %.0f seconds: no manager runs the cloud controllers", record.SilentSeconds), fix)
			default:
				found.On(path, "a single reading does not show whether the holder of the migration lease is alive", "run rke-lm verify on the cluster: it watches the lease until this is known").Severity = transform.Warning
			}
		}, Lacks: seen(observed.Leases, observed.Pods), Needed: ofStages(underLease)},
	{Rule: transform.Rule{ID: "lease-wrong-holder", Severity: transform.Error, Guards: flagOn,
		Doc: "The migration lease is held by another manager than the stage expects, or by a kube-controller-manager that is external and runs nothing."}.Because(
		"The stage did not do what it promised, or the holder runs nothing.", transform.SourceMigration, "Check the arguments of the manager that holds the lease.", "If both managers are able to run the controllers at this stage."),
		Check: func(j *evaluation, found *transform.Findings) {
			lease, want := j.lease(), j.expected()
			if want == "" || lease.Owner == "" || lease.Owner == want || lease.Life == observed.Dead {
				return
			}
			message, fix := "the migration lease is held by "+lease.Owner+", but must be held by "+want, "do not continue; see the guide for the expected result of the stage, and undo the last stage if it does not appear"
			if lease.Owner == observed.KubeManager && !j.any(observed.KubeManager, hasLoops) && j.any(observed.KubeManager, hasFlag) {
				message += ": an external kube-controller-manager holds it and runs nothing, so the cloud-controller-manager waits forever"
				fix = "remove enable-leader-migration from kube-controller-manager"
			}
			found.On(leasePath(lease.Name), message, fix)
		}, Lacks: seen(observed.Leases), Needed: ofStages(underLease)},
	// It takes leases that were looked at once for live: the arguments are
	// evidence enough.
	{Rule: transform.Rule{ID: "cloud-controllers-twice", Severity: transform.Error, Guards: always,
		Doc: "According to their arguments and leases both managers run the same cloud controllers, or a node runs two static pods of kube-controller-manager: a warning if the two are equal."}.Because(
		"Both managers create, change and delete the same load balancers and routes.", transform.SourceMigration, "Undo the last stage, and check the flags of both managers.", "Never while both run."),
		Check: func(j *evaluation, found *transform.Findings) {
			leases := assumed(j.leases)
			s := ownersOf(j.processes, leases)
			twins := j.twins(found)
			switch {
			case s.Unknown != "" && !twins && len(j.cloud())+len(j.cloudPods()) > 0:
				found.On(leasePath(j.lease().Name), "whether both managers run the cloud controllers is unknown: "+s.Unknown, "check the arguments of the manager, on its machine or in the cluster's YAML").Severity = transform.Note
				return
			case s.Unknown != "" || s.Count < 2:
				return
			}
			names := lists.Map(s.Doubled, func(c Controller) string { return string(c) })
			causes := causesOf(j.processes, leases, s.Doubled)
			found.On(leasePath(j.lease().Name), fmt.Sprintf("%s run %s at once: %s", strings.Join(names, ", "), where(s), strings.Join(reasons(causes, s), "; ")), remedyOfTwo(causes))
		}, Lacks: seen(observed.Pods, observed.Leases)},
	{Rule: transform.Rule{ID: "lease-rbac-missing", Severity: transform.Error, Guards: always,
		Doc: "A manager has no permission on the migration lease, or the cloud-controller-manager has none on its own lease."}.Because(
		"The manager without permission never acquires the lease, and its controllers do not start.", "kubernetes/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy", "Apply the Role and RoleBinding of grant-migration-lease.", "If the identity that the rule asks for is not the one that the manager has."),
		Check: func(j *evaluation, found *transform.Findings) {
			for _, l := range unique(append(j.lockers(), mains(j.processes)...)) {
				verbs := j.refused(l)
				if len(verbs) == 0 {
					continue
				}
				may := fmt.Sprintf("%s has no permission to %s ", l.user, strings.Join(verbs, ", "))
				if l.main {
					found.On(leasePath(l.lease), may+"its own lease "+l.lease+": it never becomes the leader and runs nothing, although its pods are ready",
						"grant get, create and update on leases in kube-system to its role, as the ClusterRole of the chart does")
					continue
				}
				found.On(leasePath(l.lease), may+"the migration lease", "apply the stage grant-migration-lease, and check that its Role and RoleBinding exist")
			}
		}, Lacks: reviews, Needed: ofStages(lockable)},
	// It compares the managers that run now, those of before and after a rollout among them.
	{Rule: rules.LeaseTimingsUnsafe.Rule.WithGuards(always...),
		Check: func(j *evaluation, found *transform.Findings) {
			var all []rules.Elector
			for _, p := range j.timed {
				if p.Hidden || !p.Elects || !p.Running {
					continue
				}
				var leases []string
				if p.Loops {
					leases = append(leases, p.Main)
				}
				if p.Flag {
					leases = append(leases, p.Migration)
				}
				all = append(all, rules.NewElector(p.Component, versionOf(p.Image), p.args, leases...))
			}
			if j.Check.ShortLeases { // one that install-ccm adds
				all = append(all, rules.NewElector(observed.CloudManager, j.Observation.Version, leadermigration.CloudTimings(), MigrationLease(j.processes)))
			}
			for _, o := range rules.Overtakings(all) {
				found.On(leasePath(o.Lease), o.Message, rules.ChooseTimings)
			}
		}, Lacks: timingsSeen},
}

func leasePath(name string) string { return leadermigration.Namespace + "/leases/" + name }

// Unsettled reports whether a further observation of the leases can change the verdict.
func Unsettled(o *observed.Observation, c Choice) bool {
	j := newEvaluation(o, c)
	if c.Check.NodesOnly {
		return false // nodes show at once what they need
	}
	if j.any(observed.CloudManager, crashes) {
		return false // which is verdict enough: its leases are never kept
	}
	migration := j.lease().Name
	for _, name := range j.matter() {
		l, there := o.Lease(name)
		switch {
		case there && l.Life() == observed.Unknown:
			return true
		case there && name == migration && l.Life() == observed.Dead && l.SilentSeconds < takeover && j.wanted() && j.FollowedSeconds < longEnough:
			return true
		}
	}
	return (j.Check.Stage == "" || j.Check.Manager) && j.leader().passes
}

// matter returns the leases that the verdict depends on: none where no migration
// is in progress and only one manager runs cloud controllers.
func (j *evaluation) matter() []string {
	migration := j.lease()
	mains := slices.Concat(Mains(observed.KubeManager, j.processes), Mains(observed.CloudManager, j.processes))
	unread := len(j.of(observed.KubeManager)) == 0 && migration.Holder != ""
	if j.wanted() || unread || slices.ContainsFunc(j.processes, hasFlag) {
		return append(mains, migration.Name)
	}
	if j.any(observed.KubeManager, hasLoops) && len(j.of(observed.CloudManager)) > 0 {
		return mains
	}
	return nil
}

// wanted reports whether someone has to hold the migration lease.
func (j *evaluation) wanted() bool {
	return j.Check.Lease.Needed() || slices.ContainsFunc(j.processes, hasFlag) || slices.ContainsFunc(j.cloud(), hasFlag)
}

// expected returns the component that has to hold the migration lease; "" for
// either.
func (j *evaluation) expected() string {
	switch by := j.Check.Lease; {
	case len(j.of(observed.KubeManager)) > 0 && !j.any(observed.KubeManager, hasLoops):
		return observed.CloudManager // the other one would hold it and run nothing
	case by == stages.KubeManager:
		return observed.KubeManager
	case by == stages.CloudManager, by == stages.Remaining && j.any(observed.CloudManager, hasFlag):
		return observed.CloudManager
	}
	return ""
}

// remedyOfTwo reports what to do about managers that own the same controllers.
func remedyOfTwo(causes []Process) string {
	const stop = "stop one of the two now: scale down the cloud-controller-manager, or "
	names := lists.Map(lists.Where(causes, hasFlag), func(p Process) string { return p.Migration })
	if len(lists.Distinct(names)) > 1 {
		return stop + "set the same leaderName in both configurations"
	}
	return stop + "set the flag for both, and configurations that list these controllers by their names in each manager"
}

// where reports where controllers run that have two owners: pods of one manager that
// do not elect one leader are two owners as well.
func where(s Ownership) string {
	if len(s.Owners) == 1 {
		return "twice in pods of " + s.Owners[0]
	}
	return "in both managers"
}

// reasons reports how each owner comes to run a controller.
func reasons(causes []Process, s Ownership) []string {
	list := lists.Map(causes, func(p Process) string { return named(p) + " " + reason(p, s) })
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// named is a manager, with its namespace where that is not the usual one.
func named(p Process) string {
	if p.Space() != leadermigration.Namespace {
		return p.Component + " in " + p.Space()
	}
	return p.Component
}

func reason(p Process, s Ownership) string {
	switch {
	case !p.Elects:
		return "has leader-elect=false"
	case len(s.Owners) == 1:
		return "elects its leader with the lease " + p.Main
	case !p.Flag:
		return "has no enable-leader-migration"
	case slices.ContainsFunc(s.Doubled, func(c Controller) bool { return p.Modes[c] == UnderMain }):
		return "does not have them in its leader migration configuration"
	}
	return "holds the lease " + p.Migration
}

// twins finds two static pods of kube-controller-manager on one node: the kubelet
// runs every file of its manifest folder, also a copy that was kept there. Either may
// lead, so where they differ no one can determine what runs next. A pod of the API server
// has a service account, and two of those on a node are a rollout.
func (j *evaluation) twins(found *transform.Findings) (any bool) {
	first := map[string]Process{}
	for _, p := range j.processes {
		if p.Component != observed.KubeManager || p.Account != "" || p.Node == "" || !p.Running {
			continue
		}
		other, again := first[p.Node]
		if !again {
			first[p.Node] = p
			continue
		}
		any = true
		f := found.On(p.Path(), "a second static pod of kube-controller-manager runs on the node "+p.Node+", next to "+other.Pod+": either one can be the leader",
			"check the manifest folder of the kubelet for a second file of kube-controller-manager, such as a backup, and move it out of the folder")
		if alike(p, other) {
			f.Severity = transform.Warning
			f.Message += ". They do the same until one of the two files changes"
		}
	}
	return any
}

// alike reports whether two processes do the same with the cloud controllers.
func alike(a, b Process) bool {
	return a.Loops == b.Loops && a.Flag == b.Flag && a.Elects == b.Elects && a.Main == b.Main && a.Migration == b.Migration &&
		a.Hidden == b.Hidden && a.Unreadable == b.Unreadable && maps.Equal(a.Modes, b.Modes)
}

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
