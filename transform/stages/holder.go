// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

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

// held shows who holds the migration lease, if there is one.
func (c Cluster) held(by Holder) []action.Action { return c.lease(by.shows()) }

// lease shows the migration lease, if there is one, for what a check requires of it.
func (c Cluster) lease(shows string) []action.Action {
	if c.Target.NoLeaderMigration {
		return nil
	}
	return []action.Action{leases(shows, c.Target.Lease())}
}

func leases(shows, lease string) action.Action {
	return action.Leases(leadermigration.Namespace, lease, shows)
}

// MayLock asks whether a user may lock the migration lease.
func (c Cluster) MayLock(user string) action.Action {
	return action.MayUpdate(leadermigration.Namespace, c.Target.Lease(), user)
}

// Rollout waits for the pods of the cloud-controller-manager's chart.
func Rollout(why string) action.Action {
	return action.RolledOut(leadermigration.Namespace, ccm.ChartName, why)
}

// FirstRollout waits for the first of them.
func FirstRollout(when string) action.Action {
	return Rollout(when + "wait for a pod on every control plane; the rollout of a DaemonSet without pods also succeeds, so check DESIRED")
}

// managerRuns shows whether a cloud-controller-manager runs on every control plane.
func (c Cluster) managerRuns() action.Action {
	if c.Selector == "" {
		return pods("a pod must run on every control-plane node")
	}
	return action.OnEveryNode(c.Selector, leadermigration.Namespace, ccm.ChartName, "DESIRED, READY and UP-TO-DATE must equal the number of listed nodes, and not be 0")
}

func pods(why string) action.Action {
	return action.PodsRunning(leadermigration.Namespace, leadermigration.CloudManager, why)
}
