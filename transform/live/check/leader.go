// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
)

const (
	// proof is for how long a leader has to have renewed its lease where a
	// cloud-controller-manager restarted before: one that ends when it leads does so
	// within seconds.
	proof = 10 * time.Second
	// longEnough is for how long, in seconds, leases are followed to see such a
	// leader; the takeover before it may take 20 seconds.
	longEnough = 35
)

// leading reports whether a cloud-controller-manager leads. At most one of missing and
// unknown says why not; both are "" where one does, or where none has to.
type leading struct {
	lease            string
	missing, unknown string
	passes           bool // following the lease may show what is unknown
}

// managerRules are about the cloud-controller-manager: that it is installed, runs and leads.
var managerRules = []rule{
	// It is about a cluster that has no other manager of the cloud controllers.
	{Rule: transform.Rule{ID: "ccm-removed", Severity: transform.Error, Guards: managerRuns,
		Doc: "kube-controller-manager is external, and no pod of the cloud-controller-manager exists: no manager runs the cloud controllers. Also without --stage.", Reason: rules.CCMRemoved},
		Check: func(j *evaluation, found *transform.Findings) {
			if l := j.leader(); l.missing != "" && len(j.cloudPods()) == 0 {
				found.On(leasePath(l.lease), l.missing, "install it with the stage install-ccm; if it is installed, check its DaemonSet and the Job that installs the chart")
			}
		}, Lacks: seen(observed.Pods, observed.Leases)},
	{Rule: transform.Rule{ID: "leader-missing", Severity: transform.Error, Guards: managerRuns,
		Doc: "No cloud-controller-manager is the leader: its own lease does not exist, was not renewed for 30 seconds, or no holder keeps it. Or not all cloud controllers run, although kube-controller-manager is external. Also without --stage. Not checked if a single reading, as in a dump, does not show it."}.Because(
		"No cloud-controller-manager leads: nodes are not initialized, and after the switch no load balancer is made.", transform.SourceMigration, "Read the log and the Events of its pods.", "If the manager is stopped on purpose."),
		Check: func(j *evaluation, found *transform.Findings) {
			l := j.leader()
			if l.missing == "" || len(j.cloudPods()) == 0 {
				return
			}
			fix := "check the log of the cloud-controller-manager, its arguments, and its permission on its lease"
			path := "kube-system/pods"
			if l.lease != "" {
				fix += ": " + action.Command("kubectl auth can-i update leases/%s -n kube-system --as %s", l.lease, j.leaderUser())
				path = leasePath(l.lease)
			}
			found.On(path, l.missing, fix)
		}, Lacks: leaderUnseen, Needed: func(j *evaluation) bool {
			// Without a stage too, once no one but the cloud-controller-manager can run the cloud controllers.
			return ofStages(externally)(j) || j.Check.Stage == "" && j.isExternal()
		}},
	// It does not trust a rollout that is done: one of no pods is too.
	{Rule: transform.Rule{ID: "daemonset-empty", Severity: transform.Error, Guards: managerRuns,
		Doc: "The DaemonSet of the cloud-controller-manager has no desired pods, or fewer or more than there are control planes, or not all are ready. `kubectl rollout status` succeeds for a DaemonSet without pods."}.Because(
		"No manager runs on some control planes, or on none, and the rollout of a DaemonSet without pods also succeeds.", "kubernetes/kubectl pkg/polymorphichelpers/rollout_status.go", "Correct the selector and the tolerations of the DaemonSet.", "If a control plane is known to be down."),
		Check: func(j *evaluation, found *transform.Findings) {
			want := len(lists.Where(j.Nodes, observed.Node.ControlPlane))
			for _, d := range j.DaemonSets {
				if message := short(d, want); message != "" {
					found.On(d.Namespace+"/daemonsets/"+d.Name, message, "compare its node selector and tolerations with the labels and taints of the control planes, and check its pods")
				}
			}
			// One that holds its lease may be in a namespace that was not looked at.
			outside := j.KubeSystemOnly && j.leases(observed.CloudManager).Life != observed.Dead
			if len(j.DaemonSets) == 0 && len(j.of(observed.CloudManager)) == 0 && j.Check.Manager && j.Saw(observed.Pods) && !outside {
				found.On("kube-system/daemonsets", "no DaemonSet runs the cloud-controller-manager of AWS", "apply the stage install-ccm, and check the Job that installs the chart")
			}
		}, Lacks: anyManager, Needed: ofStages(managerRuns)},
	// It finds what fails only once a lease is gained: routes without a
	// range, or a permission that is missing.
	{Rule: transform.Rule{ID: "daemonset-restarting", Severity: transform.Error, Guards: managerRuns,
		Doc: "A cloud-controller-manager restarted after it acquired the migration lease or its own, or restarts repeatedly. A warning if a process on another machine holds the lease: the clocks of two machines can differ."}.Because(
		"The manager exits whenever it leads, so that the cloud controllers run only for seconds.", aws.Source, "Read the log of the container that ended; missing permissions and --cluster-cidr are the usual causes.", "If the restart was made on purpose."),
		Check: func(j *evaluation, found *transform.Findings) {
			for _, p := range j.of(observed.CloudManager) {
				path := p.Path()
				fix := "check the log: " + action.Command("kubectl -n %s logs --previous %--%s", p.Space(), p.Pod) + "; common causes are routes without --cluster-cidr and permissions that only the leader needs"
				lease, record := j.endedWith(p)
				switch {
				case crashes(p):
					found.On(path, fmt.Sprintf("the cloud-controller-manager restarts repeatedly (%d restarts)", p.Restarts), fix)
				case lease != "":
					f := found.On(path, fmt.Sprintf("the cloud-controller-manager restarted after it acquired the %s (%d restarts)", lease, p.Restarts), fix)
					if !p.onHostOf(record.Holder) && j.any(observed.CloudManager, func(o Process) bool { return o.onHostOf(record.Holder) }) {
						f.Severity = transform.Warning // the times are of two machines' clocks
					}
				}
			}
		}, Lacks: seen(observed.Pods)},
	// It finds, while the cloud-controller-manager still waits and looks
	// healthy, what ends it when it acquires the lease.
	{Rule: transform.Rule{ID: rules.CCMArgsUnsafe.ID, Severity: transform.Error, Guards: managerRuns,
		Doc: "With its arguments the cloud-controller-manager exits when it acquires the lease: routes are on without --cluster-cidr.", Reason: rules.CCMArgsUnsafe.Reason},
		Check: func(j *evaluation, found *transform.Findings) {
			from := false // its pods have them from a DaemonSet
			for _, d := range j.DaemonSets {
				if routesUnsafe(ReadProcess(template(d))) {
					found.On(d.Namespace+"/daemonsets/"+d.Name, rules.RoutesUnsafe, rules.RoutesFix)
					from = true
				}
			}
			for _, p := range j.cloudPods() {
				if !from && !p.Hidden && routesUnsafe(p) {
					found.On(p.Path(), rules.RoutesUnsafe, rules.RoutesFix)
				}
			}
		}, Lacks: anyArguments},
}

// isExternal reports whether no one but the cloud-controller-manager can run the cloud
// controllers: the stage says so, or kube-controller-manager is external, with leader
// migration or without.
func (j *evaluation) isExternal() bool {
	return j.Check.External || j.any(observed.KubeManager, func(p Process) bool { return p.value("cloud-provider", "") == "external" }) && !j.any(observed.KubeManager, hasLoops)
}

// leader checks who leads the cloud-controller-manager. Where it is installed it leads
// by its own lease long before it is an owner: without that lease the switch would leave
// the controllers to no one.
func (j *evaluation) leader() leading {
	pods := j.cloudPods()
	switch hides := slices.IndexFunc(pods, func(p Process) bool { return p.Hidden || p.unseen() }); {
	case len(pods) == 0 && !j.isExternal():
		return leading{} // what a DaemonSet lacks is for its own rules to say
	case len(pods) == 0:
		return j.leaderWithoutPod()
	case hides >= 0:
		l := j.best([]string{observed.CloudManager})
		if l.missing != "" { // it may lead by a lease that its arguments do not show
			l = leading{unknown: cmp.Or(pods[hides].Unreadable, l.missing)}
		}
		return l
	case slices.ContainsFunc(pods, func(p Process) bool { return p.Elects }):
		return j.owning(j.best(Mains(observed.CloudManager, pods)))
	case slices.ContainsFunc(pods, func(p Process) bool { return p.Running }):
		return j.owning(leading{})
	}
	return leading{missing: "no pod of the cloud-controller-manager runs"}
}

// cloudPods are the processes of the cloud-controller-manager, also those whose
// arguments could not be read.
func (j *evaluation) cloudPods() []Process {
	return lists.Where(j.processes, func(p Process) bool { return p.Component == observed.CloudManager })
}

// leaderWithoutPod checks where no pod of the cloud-controller-manager was seen: it
// may run elsewhere, and then its lease is renewed.
func (j *evaluation) leaderWithoutPod() leading {
	l := j.best(Mains(observed.CloudManager, j.cloud()))
	record, _ := j.Lease(l.lease)
	switch why := seen(observed.Leases, observed.Pods)(j); {
	case why != "" && l.missing == "":
		l.unknown = cmp.Or(l.unknown, why)
	case l.is() && j.KubeSystemOnly: // its pod may be in a namespace that was not looked at
	case l.is():
		l.unknown = "the lease " + l.lease + " is held, but no pod of the cloud-controller-manager of AWS was found"
	case why == "" && (record.Holder == "" || record.Life() == observed.Dead):
		l = leading{lease: l.lease, missing: "no pod of the cloud-controller-manager of AWS exists, and an external kube-controller-manager runs no cloud controllers"}
	}
	return l
}

// is reports whether there is a leader.
func (l leading) is() bool { return l.missing == "" && l.unknown == "" }

// best checks leases of which one has to be led.
func (j *evaluation) best(names []string) leading {
	best := j.term(names[0])
	for _, name := range names[1:] {
		if l := j.term(name); l.is() || l.missing == "" && best.missing != "" {
			best = l
		}
	}
	return best
}

// term checks whether a lease has a leader that lasts. Times in a record are of one
// clock, its holder's, and are compared with each other alone.
func (j *evaluation) term(name string) leading {
	record, there := j.Lease(name)
	l := leading{lease: name}
	term := record.Renewed.Sub(record.Acquired)
	switch life := record.Life(); {
	case !j.Saw(observed.Leases):
		l.unknown = seen(observed.Leases)(j)
	case !there && (j.Partial || j.FollowedSeconds >= takeover):
		l.missing = "the lease " + name + " does not exist: no cloud-controller-manager has ever acquired it"
	case !there:
		l.unknown, l.passes = "the lease "+name+" does not exist yet", true
	case life == observed.Unknown:
		l.unknown, l.passes = "a single reading does not show whether the holder of "+name+" is alive", true
	case life == observed.Dead && record.SilentSeconds >= takeover:
		l.missing = fmt.Sprintf("the lease %s was not renewed for %.0f seconds: no cloud-controller-manager is the leader", name, record.SilentSeconds)
	case life == observed.Dead && j.FollowedSeconds >= longEnough:
		l.missing = j.notKept(name)
	case life == observed.Dead:
		l.unknown, l.passes = fmt.Sprintf("acquiring the expired lease %s can take %d seconds, and it was not renewed for %.0f", name, takeover, record.SilentSeconds), true
	case record.Acquired.IsZero() || term >= proof || term > 0 && !j.any(observed.CloudManager, restarted):
	case j.FollowedSeconds >= longEnough:
		l.missing = j.notKept(name)
	default:
		l.unknown, l.passes = "the holder of "+name+" is new, and may exit immediately", true
	}
	return l
}

// notKept is said of a lease that was followed for longer than any takeover takes.
func (j *evaluation) notKept(name string) string {
	return fmt.Sprintf("in %.0f seconds no cloud-controller-manager kept the lease %s: it exits when it becomes the leader", j.FollowedSeconds, name)
}

func restarted(p Process) bool { return p.Restarts > 0 }

// owning checks whether who leads also owns the cloud controllers, once no one else
// can. What is wrong with the migration lease is for its own rules to say.
func (j *evaluation) owning(l leading) leading {
	if !l.is() || !j.isExternal() {
		return l
	}
	pods := j.cloudPods()
	if slices.ContainsFunc(pods, hasFlag) {
		lease := j.lease()
		if lease.Owner != observed.CloudManager || lease.Life != observed.Live {
			return l
		}
		if held := j.term(lease.Name); !held.is() {
			return held
		}
	}
	s := ownersOf(pods, func(name string) leaseHolder {
		if name == observed.KubeManager {
			return leaseHolder{Life: observed.Dead} // it is external, and owns nothing
		}
		return j.leases(name)
	})
	if s.Unknown == "" && s.Count == 0 {
		l.missing = "the cloud-controller-manager is the leader but does not run all cloud controllers, and kube-controller-manager is external and runs none"
	}
	return l
}

// leaderUser is who has to lock the lease.
func (j *evaluation) leaderUser() string {
	return user(append(j.of(observed.CloudManager), ReadProcess(observed.Manager{Component: observed.CloudManager}))[0])
}

// leaderUnseen reports why the leader could not be checked; "" where it could.
func leaderUnseen(j *evaluation) string {
	l := j.leader()
	if l.is() && len(j.cloudPods()) == 0 {
		return seen(observed.Leases, observed.Pods)(j)
	}
	return l.unknown
}

func crashes(p Process) bool { return p.Waiting == "CrashLoopBackOff" }

// short reports what a DaemonSet lacks on so many control planes. A cluster whose
// nodes were not looked at has none to compare with.
func short(d observed.DaemonSet, want int) string {
	switch {
	case d.Desired == 0:
		return "it has 0 desired pods: no node matches its node selector, or taints prevent scheduling"
	case want > 0 && d.Desired != want:
		return fmt.Sprintf("it has %d desired pods for %d control planes", d.Desired, want)
	case !d.Observed:
		return "its last change is not observed yet"
	case d.Updated != d.Desired || d.Ready != d.Desired:
		return fmt.Sprintf("of %d pods %d are up-to-date and %d are ready", d.Desired, d.Updated, d.Ready)
	}
	return ""
}

// endedWith names the lease since whose acquisition a process has restarted; "" for
// none. Of its own lease only the process in the record counts: another one waits.
func (j *evaluation) endedWith(p Process) (name string, l observed.Lease) {
	since := func(l observed.Lease) bool {
		return p.Restarts > 0 && !l.Acquired.IsZero() && p.RestartedAt >= l.Acquired.Unix()
	}
	own, _ := j.Lease(p.Main)
	migration, _ := j.Lease(j.lease().Name)
	switch {
	case j.lease().Owner == observed.CloudManager && since(migration):
		return "migration lease", migration
	case p.Elects && own.Life() != observed.Live && p.onHostOf(own.Holder) && since(own):
		return "lease " + own.Name, own
	}
	return "", own
}

// routesUnsafe reports whether a process starts the route controller without a range
// of addresses.
func routesUnsafe(p Process) bool {
	_, on := p.Modes[Route]
	return on && ccm.RoutesUnsafe(p.args)
}
