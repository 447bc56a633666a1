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
	GrantWhy = "By default kube-controller-manager has no permission on the migration lease; without it no manager runs the cloud controllers " +
		"once leader migration is enabled, and no error is reported. The permission stays: a rollback needs it."
	EnableWhy = "kube-controller-manager then runs its cloud controllers under the migration lease, which the other manager can acquire. " +
		enableGap
	InstallWhy = "The cloud-controller-manager starts in addition to kube-controller-manager and waits for the migration lease; it initializes nodes from its start. "
	switchWhy  = "kube-controller-manager stops the cloud controllers, and the waiting cloud-controller-manager acquires the migration lease. " +
		"The same edit removes the flag from kube-controller-manager: an external manager with the flag holds the lease and runs nothing. "
	DisableWhy = "Only one manager runs the cloud controllers, so the migration lease is not needed: the edit removes the flag from the chart, and the image gets the minor version of the cluster. The permission on the lease stays, because a rollback needs it. " +
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
	InstallElsewhere = "The provider is external, and no cloud-controller-manager of AWS is in the file. One may have been installed by other means, such as a release of Helm, or there is none, and then no manager initializes nodes or creates load balancers. The file does not show which. "
	DisableElsewhere = "No cloud-controller-manager of AWS is in the file, so the file does not show whether one still has the flag."
)

// What becomes of the lease when stages are undone: no manager gives it back while
// it runs.
const (
	LeaseStays   = "cloud-controller-manager holds the migration lease for as long as it runs, and kube-controller-manager waits for it"
	LeaseReturns = "within 30 seconds kube-controller-manager holds the migration lease again"
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
		Why:   "An existing provider ID proves little, because in-tree kubelets wrote it and it never changes; unchanged names and no taint prove that the nodes are the same.",
		After: []transform.Action{transform.ProviderIDs{}, transform.LeaseHolder{Why: "cloud-controller-manager holds the migration lease, or it is not renewed any more because leader migration is disabled", Lease: t.LeaseName}},
	}
}

const namespace = "kube-system"

// BeforeSwitch is what has to be so before the switch.
func BeforeSwitch(t transform.Target) []transform.Action {
	return []transform.Action{
		Rollout("before the edit, the cloud-controller-manager must run on every control plane, with --enable-leader-migration=true, waiting for the lease"),
		transform.LeaseHolder{Why: "before the edit, kube-controller-manager must hold the migration lease; after it, cloud-controller-manager", Lease: t.LeaseName},
	}
}

// LookForManager shows whether a cloud-controller-manager runs, whoever installed it.
func LookForManager() []transform.Action {
	return []transform.Action{
		transform.PodsRunning{Namespace: namespace, Component: leadermigration.CloudManager, Why: "a pod must run on every control-plane node, in this namespace or in the one that it was installed in; rke-lm verify also finds them"},
		transform.LeaseHolder{Why: "the lease cloud-controller-manager must have a holder, and be renewed every few seconds"},
	}
}

// Rollout waits for the pods of the cloud-controller-manager.
func Rollout(why string) transform.Action {
	return transform.RolloutDone{Namespace: namespace, DaemonSet: ccm.ChartName, Why: why}
}

// FirstRollout waits for the first of them.
func FirstRollout(when string) transform.Action {
	return Rollout(when + "wait for a pod on every control plane; a rollout of no pods is also reported as complete, so check DESIRED")
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
