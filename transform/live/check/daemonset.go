// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// daemonSetEmpty does not trust a rollout that is done: one of no pods is too.
var daemonSetEmpty = rule{Rule: transform.Rule{ID: "daemonset-empty", Severity: transform.Error, Guards: managerRuns,
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
	}, Lacks: anyManager, Needed: ofStages(managerRuns)}

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

// daemonSetRestarting finds what fails only once a lease is gained: routes without a
// range, or a permission that is missing.
var daemonSetRestarting = rule{Rule: transform.Rule{ID: "daemonset-restarting", Severity: transform.Error, Guards: managerRuns,
	Doc: "A cloud-controller-manager restarted after it acquired the migration lease or its own, or restarts repeatedly. A warning if a process on another machine holds the lease: the clocks of two machines can differ."}.Because(
	"The manager exits whenever it leads, so that the cloud controllers run only for seconds.", transform.SourceAWS, "Read the log of the container that ended; missing permissions and --cluster-cidr are the usual causes.", "If the restart was made on purpose."),
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
	}, Lacks: seen(observed.Pods)}

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

// ccmArgsUnsafe finds, while the cloud-controller-manager still waits and looks
// healthy, what ends it when it acquires the lease.
var ccmArgsUnsafe = rule{Rule: transform.Rule{ID: rules.CCMArgsUnsafe.ID, Severity: transform.Error, Guards: managerRuns,
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
	}, Lacks: anyArguments}

// routesUnsafe reports whether a process starts the route controller without a range
// of addresses.
func routesUnsafe(p Process) bool {
	_, on := p.Modes[Route]
	return on && ccm.RoutesUnsafe(p.args)
}
