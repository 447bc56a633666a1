// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/shell"
)

// Inspection is a command that shows a person what a check requires. A run does not carry it out:
// the rules check the same.
type Inspection struct {
	Asks     Check  // the part of a check that the command shows
	Why      string // what to look for
	Lease    string // of the migration
	User     string // who has to lock it
	Selector string // of the control planes, to compare with; "" waits for a rollout
}

// Purpose implements transform.Action.
func (l Inspection) Purpose() string { return l.Why }

// Command implements transform.Action.
func (l Inspection) Command() string {
	const namespace = leadermigration.Namespace
	switch {
	case l.Asks.Granted:
		return shell.Line("kubectl -n %s auth can-i update leases/%s --as %s", namespace, l.Lease, l.User)
	case l.Asks.Manager && l.Selector == "":
		return shell.Line("kubectl -n %s rollout status daemonset/%s", namespace, ccm.ChartName)
	case l.Asks.Manager:
		return shell.Line("kubectl get nodes -l %s; kubectl -n %s get daemonset %--%s", l.Selector, namespace, ccm.ChartName)
	case l.Asks.External:
		return `kubectl get nodes -o custom-columns='NAME:.metadata.name,PROVIDER-ID:.spec.providerID,ZONE:.metadata.labels.topology\.kubernetes\.io/zone,TAINTS:.spec.taints[*].key'`
	}
	return shell.Line("kubectl -n %s get leases -o custom-columns=NAME:.metadata.name,HOLDER:.spec.holderIdentity,RENEWED:.spec.renewTime %--kube-controller-manager cloud-controller-manager %s", namespace, l.Lease)
}

// String names who has to hold the migration lease.
func (h Holder) String() string {
	switch h {
	case KubeManager:
		return leadermigration.Manager
	case CloudManager, Remaining:
		return leadermigration.CloudManager
	case Either:
		return leadermigration.Manager + " or " + leadermigration.CloudManager
	}
	return ""
}

// shows reports what a check requires of the migration lease.
func (h Holder) shows() string {
	switch h {
	case Either:
		return h.String() + " holds the migration lease: both take part in the migration, and no manager releases the lease"
	case Remaining:
		return h.String() + " holds the migration lease, or it is not renewed any more because leader migration is disabled"
	}
	return h.String() + " holds the migration lease"
}

// held looks who holds the migration lease, if there is one.
func (c Cluster) held(by Holder) []transform.Action { return c.lease(by, by.shows()) }

// lease looks at the migration lease, if there is one, for what is said of it.
func (c Cluster) lease(by Holder, shows string) []transform.Action {
	if c.Target.NoLeaderMigration {
		return nil
	}
	return []transform.Action{leases(by, shows, c.Target.Lease())}
}

func leases(by Holder, shows, lease string) Inspection {
	return Inspection{Asks: Check{Lease: by}, Why: shows, Lease: lease}
}

// MayLock asks whether a user may lock the migration lease.
func (c Cluster) MayLock(user string) transform.Action {
	return Inspection{Asks: Check{Granted: true}, Why: "the answer must be yes", Lease: c.Target.Lease(), User: user}
}

// providerIDs lists what every node must have at the end.
func providerIDs() transform.Action {
	return Inspection{Asks: Check{External: true}, Why: "every node keeps its name, has a provider ID aws:///ZONE/INSTANCE and no taint uninitialized"}
}

// Rollout waits for the pods of the cloud-controller-manager's chart.
func Rollout(why string) transform.Action { return Inspection{Asks: Check{Manager: true}, Why: why} }

// FirstRollout waits for the first of them.
func FirstRollout(when string) transform.Action {
	return Rollout(when + "wait for a pod on every control plane; the rollout of a DaemonSet without pods also succeeds, so check DESIRED")
}

// managerRuns shows whether a cloud-controller-manager runs on every control plane.
func (c Cluster) managerRuns() transform.Action {
	if c.Selector == "" {
		return pods("a pod must run on every control-plane node")
	}
	return Inspection{Asks: Check{Manager: true}, Why: "DESIRED, READY and UP-TO-DATE must equal the number of listed nodes, and not be 0", Selector: c.Selector}
}

func pods(why string) transform.Action {
	return transform.PodsRunning{Namespace: leadermigration.Namespace, Component: leadermigration.CloudManager, Why: why}
}
