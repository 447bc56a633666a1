// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// CordonControlPlane is the stage that keeps new pods off the control planes during the
// switch.
const CordonControlPlane = "cordon-control-plane"

// Only nodes that the migration cordoned are released, and none that an admin cordoned is
// touched by either stage.
var cordonNodes = Stage{
	Name: CordonControlPlane, Leader: eitherRuns, long: true,
	past: func(s Observed) bool { return s.Switched },
	after: func(t transform.Target) Check {
		c := installManager.after(t)
		c.Stage, c.Cordoned = CordonControlPlane, true
		return c
	},
}

// Around reports whether a stage only goes with the switch: nothing of it is left to do once
// the migration is complete.
func Around(stage string) bool { return stage == CordonControlPlane || stage == UncordonControlPlane }

// Cordoning is the operator's choice for one cluster.
type Cordoning struct {
	Instead  string // why a format does not do it, as a sentence; "" where it may
	Target   transform.Target
	Workers  bool   // a control plane is a worker, too
	Selector string // of the control-plane nodes
	Cluster  string // names the run on the nodes

	// Why is what the format says of the stage, and ReleaseWhy of its reverse where that is not as usual.
	Why, ReleaseWhy string
}

const releaseWhy = "The nodes that were cordoned for the switch become schedulable again; nodes that another user cordoned stay cordoned."

// Stage cordons the control planes.
func (c Cordoning) Stage() transform.Stage {
	if why := c.not(); why != "" {
		return InOtherDocument(why)
	}
	return transform.Stage{
		Why:       c.Why,
		After:     []action.Action{action.CordonNodes(c.Selector, Mark(c.Cluster))},
		UndoAfter: []action.Action{action.UncordonNodes(Mark(c.Cluster))},
	}
}

// unsafe is what a cluster's name may hold and a shell would not take as it is.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// Mark is on the nodes that the migration of a cluster cordoned.
func Mark(cluster string) string {
	return strings.TrimRight("leader-migration-"+strings.Trim(unsafe.ReplaceAllString(cluster, "-"), "-"), "-")
}

// not reports why nothing is cordoned, or "".
func (c Cordoning) not() string {
	switch {
	case c.Instead != "":
		return c.Instead
	case c.Target.Cordon == transform.CordonAlways:
		return ""
	case c.Target.Cordon == transform.CordonNever:
		return "Not needed: --cordon never was given."
	case c.Workers:
		return "Not needed: control planes also run workloads, which could not be scheduled."
	case c.Target.Version != "":
		return "Not needed: Kubernetes is upgraded as well, and pods must be rescheduled."
	}
	return ""
}

// UncordonControlPlane is the stage that lets the control planes take workloads again.
const UncordonControlPlane = "uncordon-control-plane"

var uncordonNodes = Stage{
	Name: UncordonControlPlane, Leader: switchProvider.Leader, long: true,
	past: func(s Observed) bool { return !s.Marked },
	after: func(t transform.Target) Check {
		c := switchProvider.after(t)
		c.Stage, c.Cordoned, c.Released = UncordonControlPlane, false, true
		return c
	},
}

// Release uncordons what Stage cordoned.
func (c Cordoning) Release() transform.Stage {
	if why := c.not(); why != "" {
		return InOtherDocument(why)
	}
	return transform.Stage{Why: cmp.Or(c.ReleaseWhy, releaseWhy), After: []action.Action{action.UncordonNodes(Mark(c.Cluster))}}
}

// SwitchToExternal is the stage that makes the provider external.
const SwitchToExternal = "switch-to-external"

var switchProvider = Stage{
	Name: SwitchToExternal, Edits: true, Snapshot: true, byPods: true,
	Leader: "the cloud-controller-manager runs the cloud controllers under the migration lease",
	Machines: Machines{
		Keys:      []string{"cloud-provider-name", "disable-cloud-controller"},
		Arguments: []string{"kube-controller-manager-arg", "kube-apiserver-arg", "kubelet-arg"},
		Flags:     append([]string{"cloud-provider", "cloud-config", "enable-leader-migration", "leader-migration-config", "feature-gates"}, args.Names(leadermigration.KubeTimings())...),
	},
	gap: transform.Span{Least: 16, Most: 20}, shortGap: transform.Span{Least: 8, Most: 11}, waits: Migration.switches,
	noUndoGap: "Expect no gap: the cloud-controller-manager keeps the migration lease and continues to run.",
	shown:     func(m Managers) bool { return m.Cloud && m.External },
	after: func(t transform.Target) Check {
		switch {
		case t.Situation.SwitchFirst():
			return Check{NodesOnly: true} // the cloud-controller-manager comes next
		case !t.Situation.HasInTreeProvider():
			return runsAlone()
		case t.NoLeaderMigration:
			return verification.after(t) // there is no lease to look at
		}
		return Check{Stage: SwitchToExternal, AtLeast: SwitchToExternal, Lease: CloudManager, Granted: true, Manager: true, External: true, Cordoned: true}
	},
	// No manager gives the lease back while it runs, so either may hold it.
	undone: func(t transform.Target) Check {
		if t.NoLeaderMigration {
			return Check{NodesOnly: true}
		}
		return Check{Lease: Either}
	},
}

const (
	switchWhy = "kube-controller-manager stops the cloud controllers, and the waiting cloud-controller-manager acquires the migration lease. " +
		"The same edit removes the flag from kube-controller-manager: an external manager with the flag holds the lease and runs nothing. "

	switchBrokenWhy = "The components do not start with the provider aws: Kubernetes 1.27 and later do not have it, and an upgrade to such a release stops at the first machine. With an external provider they start, one machine after another. " +
		"A control plane that was not upgraded yet runs the in-tree cloud controllers until its turn comes. So the cloud-controller-manager is installed after this stage has reached every control plane; in between no manager runs the cloud controllers. " +
		"To return to 1.26, restore a snapshot of etcd from before the upgrade, together with its Kubernetes version. "

	switchedWhy = "The provider is external already; the edit adds what the switch still lacks. "

	leaseStays = "cloud-controller-manager holds the migration lease for as long as it runs, and kube-controller-manager waits for it"
)

// Switch completes the stage of a format.
func (c Migration) Switch(own transform.Stage) transform.Stage {
	own.Before = append(own.Before, c.beforeSwitch()...)
	own.UndoAfter = append(own.UndoAfter, c.lease(leaseStays)...)
	return c.Switched(own)
}

// Switched completes the stage of a document without kube-controller-manager.
func (c Migration) Switched(own transform.Stage) transform.Stage {
	own.Verify = append(append(own.Verify, c.held(After(SwitchToExternal, c.Target).Lease)...), action.ProviderIDs())
	return own
}

// SwitchWhy is why the switch is there, which ends in a space, and whether no manager hands over in it, unless
// kube-controller-manager has the flag. made means that every component is external: an edit that is left is for the rest.
func (c Migration) SwitchWhy(made bool, edit func() (*yamledit.Edit, error)) (why string, noGap bool) {
	if made {
		if e, err := edit(); err == nil && !e.Empty() {
			return switchedWhy, true
		}
	}
	switch {
	case c.Target.Situation == transform.Broken:
		return switchBrokenWhy, false
	case c.Target.Situation == transform.External, c.Target.Situation == transform.Rescued:
		return switchedWhy, false
	case c.Target.NoLeaderMigration:
		return switchWhy, false
	}
	return switchWhy + expect(c.gap(&switchProvider)) + "." + c.switchShortWhy() + " ", false
}

// beforeSwitch is what has to be so before the switch: what holds after the stage before.
func (c Migration) beforeSwitch() []action.Action {
	if c.Target.Situation.SwitchFirst() {
		return nil
	}
	before, after := Before(SwitchToExternal, c.Target), After(SwitchToExternal, c.Target)
	lease := c.lease("before the edit, " + before.Lease.String() + " must hold the migration lease; after it, " + after.Lease.String())
	switch {
	case c.Selector == "":
		return append([]action.Action{pods("before the edit, a cloud-controller-manager must run on every control-plane node, and with leader migration wait for the lease")}, lease...)
	case !before.Manager:
		return nil // it comes with the switch
	}
	if !c.Target.Situation.HasInTreeProvider() {
		return []action.Action{Rollout("before the edit, the cloud-controller-manager must run on every control plane")}
	}
	return append([]action.Action{Rollout("before the edit, the cloud-controller-manager must run on every control plane, with --enable-leader-migration=true, waiting for the lease")}, lease...)
}

// Credentials are what kubelets need for ECR where a stage moves the cluster to a release that has none, unless they have a
// credential provider.
func Credentials(move k8s.Upgrade, provided bool, at aws.Place) action.Preparation {
	if provided || !move.Leaves(aws.FirstWithout) {
		return action.Preparation{}
	}
	return aws.ECRNeeds(at)
}

// External reports whether the switch is in the document of a plan.
func External(p *plan.Plan) bool {
	s, has := p.Step(SwitchToExternal)
	return has && s.State == plan.Done || p.Target.Upgrades()
}

// CheckUndo refuses to take the switch back where there is no in-tree provider any more.
func CheckUndo(p *plan.Plan, names []string, version string) error {
	if err := CheckUndone(p.Start[0].File(), names...); err != nil {
		return err
	}
	if !slices.Contains(names, SwitchToExternal) || !External(p) || !k8s.From(version, aws.FirstWithout) {
		return nil
	}
	do := "with --to " + SwitchToExternal + " the stages after the switch are undone"
	if _, there := p.Step(SetProviderIDs); there {
		do = "provider IDs never change, so " + SetProviderIDs + " cannot be undone either"
	}
	return transform.ConflictIn(p.Start[0].File(), "the cluster runs "+version+", or is about to, and Kubernetes 1.27 and later have no in-tree provider to roll back to", "keep the external provider; "+do)
}
