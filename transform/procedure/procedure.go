// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package procedure holds what the stages of every distro say and do outside of
// the document.
//
// Invariant: a stage means the same in every distro, so its reason, its checks and
// its order are written once; a distro adds what is its own.
package procedure

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Why the stages are there.
const (
	GrantWhy = "kube-controller-manager may not lock the migration lease by default; without the right its cloud controllers " +
		"run nowhere as soon as leader migration is on, and nothing says so. The right stays in place: a rollback needs it."
	EnableWhy = "kube-controller-manager then runs its cloud controllers under the migration lease, which one manager can hand to the other. " +
		enableGap
	InstallWhy = "The cloud-controller-manager starts beside kube-controller-manager and waits for the migration lease; it initialises nodes from its first second. "
	switchWhy  = "kube-controller-manager gives up the cloud controllers, and the waiting cloud-controller-manager takes the migration lease. " +
		"The flag leaves kube-controller-manager in the same edit: an external manager that keeps it holds the lease and runs nothing. "
	DisableWhy = "One manager is left, so the migration lease has done its work: the flag leaves the chart, and the image moves to the cluster's minor. The right to the lease stays, because a rollback needs it. " +
		disableGap
)

// SwitchWhy is why the switch is there, and how long its gap is. It ends in a space.
func SwitchWhy(t transform.Target) string {
	if t.NoLeaderMigration {
		return switchWhy
	}
	return switchWhy + switchGap + " "
}

// What is said of stages whose result is not in the file of an external cluster.
const (
	InstallElsewhere = "The provider is external, and no cloud-controller-manager of AWS is in the file. One may have been installed by other means, such as a release of Helm, or there is none, and then nobody initialises nodes or serves load balancers. The file does not tell. "
	DisableElsewhere = "No cloud-controller-manager of AWS is in the file, so whether one still has the flag does not show here."
)

// What becomes of the lease when stages are undone: no manager gives it back while
// it runs.
const (
	LeaseStays   = "the migration lease keeps the holder of cloud-controller-manager for as long as that runs, and kube-controller-manager waits for it"
	LeaseReturns = "within half a minute the migration lease has the holder of kube-controller-manager again"
)

// Set makes the stages of one cluster.
type Set struct {
	Grant, Enable, Install, Cordon, Switch, Uncordon, Disable func() transform.Stage
}

// InOrder returns the stages of a choice in their order. This list is the
// architecture.
func (s Set) InOrder(t transform.Target) []transform.Stage {
	if t.NoLeaderMigration {
		return []transform.Stage{s.Install(), s.Switch(), verification(t)}
	}
	return []transform.Stage{
		s.Grant(),
		s.Enable(),
		s.Install(),
		s.Cordon(),
		s.Switch(),
		s.Uncordon(),
		s.Disable(),
		verification(t),
	}
}

// verification is the last stage: checks alone.
func verification(t transform.Target) transform.Stage {
	return transform.Stage{
		Name:  stages.VerifyProviderIDs,
		Why:   "A provider ID that is there proves little, because in-tree kubelets wrote it and it never changes; names that stayed and no taint left prove that the nodes are the same ones.",
		After: []transform.Action{transform.ProviderIDs{}, transform.LeaseHolder{Why: "the migration lease has the holder of cloud-controller-manager, or is not renewed any more when leader migration is off", Lease: t.LeaseName}},
	}
}

const namespace = "kube-system"

// BeforeSwitch is what has to be so before the switch.
func BeforeSwitch(t transform.Target) []transform.Action {
	return []transform.Action{
		Rollout("before the edit, the cloud-controller-manager must run on every control plane, with --enable-leader-migration=true, waiting for the lease"),
		transform.LeaseHolder{Why: "before the edit, the migration lease must have the holder of kube-controller-manager; after it, that of cloud-controller-manager", Lease: t.LeaseName},
	}
}

// LookForManager shows whether a cloud-controller-manager runs, whoever installed it.
func LookForManager() []transform.Action {
	return []transform.Action{
		transform.PodsRunning{Namespace: namespace, Component: leadermigration.CloudManager, Why: "a pod must run on every control-plane node, in this namespace or in the one that it was installed in; rke-lm verify looks for them, too"},
		transform.LeaseHolder{Why: "cloud-controller-manager must have a holder, and be renewed every few seconds"},
	}
}

// Rollout waits for the pods of the cloud-controller-manager.
func Rollout(why string) transform.Action {
	return transform.RolloutDone{Namespace: namespace, DaemonSet: ccm.ChartName, Why: why}
}

// FirstRollout waits for the first of them.
func FirstRollout(when string) transform.Action {
	return Rollout(when + "wait for a pod on every control plane; a rollout of no pods also counts as done, so look at DESIRED")
}

// Desired compares its pods with the control planes that a selector matches.
func Desired(selector string) transform.Action {
	return transform.Desired{Namespace: namespace, DaemonSet: ccm.ChartName, Selector: selector}
}

// Holder looks at the migration lease, if there is one.
func Holder(t transform.Target, why string) []transform.Action {
	if t.NoLeaderMigration {
		return nil
	}
	return []transform.Action{transform.LeaseHolder{Why: why, Lease: t.LeaseName}}
}

// Overlap says what the short way means; "" for the long one.
func Overlap(t transform.Target, do string) string {
	if !t.NoLeaderMigration {
		return ""
	}
	return " Without leader migration both managers run the cloud controllers until the switch has reached every control plane: " + do + "."
}
