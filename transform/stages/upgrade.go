// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// UpgradeKubernetes is the stage that moves a migrated cluster to the release of a plan, one
// minor later at most.
const UpgradeKubernetes = "upgrade-kubernetes"

// UpgradeCCM is the stage that moves the cloud-controller-manager to the minor of the cluster. It
// must not be newer than any kube-apiserver, and may be one minor older
// (kubernetes.io/releases/version-skew-policy), so it comes after every control plane was upgraded.
const UpgradeCCM = "upgrade-ccm"

var upgradeKubernetes = Stage{
	Name: UpgradeKubernetes, Edits: true, Leader: atTheEnd, Snapshot: true, upgrades: true,
	Machines: Machines{Arguments: []string{"kube-apiserver-arg"}, Flags: []string{"cloud-provider", "cloud-config"}},
	undo:     func(Observed) bool { return false },
	after:    func(transform.Target) Check { return verified(UpgradeKubernetes) },
}

var upgradeManager = Stage{
	Name: UpgradeCCM, Edits: true, Leader: atTheEnd, upgrades: true,
	past:  func(s Observed) bool { return s.Helm && s.Finished },
	undo:  func(Observed) bool { return false },
	after: func(transform.Target) Check { return verified(UpgradeCCM) },
}

const (
	upgradeWhy = "Control planes take one minor at a time, so each minor is a plan of its own. The image of the cloud-controller-manager keeps its minor until every control plane is upgraded, because it must not be newer than any kube-apiserver. "

	noDowngrade = "Kubernetes control planes cannot be downgraded: an older kube-apiserver does not read what a newer one has stored"

	noReturn = noDowngrade + ". To return, restore a snapshot of etcd together with the release of that time."

	upgradeManagerWhy = "Every kube-apiserver has the new minor, and the cloud-controller-manager, which may be one minor older, follows: one pod after another is replaced, and another pod acquires the lease when its holder ends. "
)

// Upgrade completes the stage that moves the release.
func (c Migration) Upgrade(own transform.Stage) transform.Stage {
	own.Why = upgradeWhy + own.Why
	own.Caution, own.Permanent = noReturn, true
	own.Before = append(own.Before, Rollout("before the edit, the cloud-controller-manager must run on every control plane, with an image of the cluster's minor"))
	own.Verify = append(own.Verify, action.ProviderIDs())
	return own
}

// UpgradedCCM completes the stage that moves the cloud-controller-manager.
func (c Migration) UpgradedCCM(own transform.Stage) transform.Stage {
	own.Why = strings.TrimSpace(upgradeManagerWhy + own.Why)
	own.Caution, own.Permanent = noReturn, true
	own.Verify = append(own.Verify, c.managerRuns())
	return own
}

// UpgradeNotInFile is the stage of a cluster whose document does not hold the
// cloud-controller-manager; tag is the image's that belongs to its minor.
func (c Migration) UpgradeNotInFile(tag string, own transform.Stage) transform.Stage {
	image := "an image of the cluster's minor"
	if tag != "" {
		image = "the image tag " + tag
	}
	own.Why = upgradeManagerWhy + "It is not in the file: give it " + image + " where it is installed."
	own.After = append(own.After, pods("every pod must have "+image))
	return own
}

// CheckUndone refuses to undo an upgrade: no document and no saved plan takes a cluster back.
func CheckUndone(file string, names ...string) error {
	if !slices.Contains(names, UpgradeKubernetes) && !slices.Contains(names, UpgradeCCM) {
		return nil
	}
	return transform.ConflictIn(file, noDowngrade, "restore a snapshot of etcd from before the upgrade together with the release of that time; the image of the cloud-controller-manager stays with the release")
}

// SetProviderIDs is the stage that gives Nodes which joined without a cloud provider a
// provider ID of AWS.
const SetProviderIDs = "set-provider-ids"

// Only a cluster that ran without cloud controllers has such Nodes: in-tree kubelets wrote the
// provider ID themselves.
var identifyNodes = Stage{
	Name: SetProviderIDs, Leader: atTheEnd, late: true, conditional: true,
	past:  func(s Observed) bool { return s.Identified },
	undo:  func(Observed) bool { return false },
	after: func(transform.Target) Check { return verified(SetProviderIDs) },
}

func setProviderIDs() transform.Stage {
	return transform.Stage{
		Why: "A Node that joined while the cluster had no cloud provider has no provider ID, and one that joined while RKE2's stub ran has rke2://. Load balancers do not use such Nodes, and their volumes have no zone. " +
			"A provider ID is set once and never changes, so this stage cannot be undone.",
		After: []action.Action{action.InitializeNodes(), action.RegisterNodes()},
	}
}

// VerifyProviderIDs is the last stage: checks alone.
const VerifyProviderIDs = "verify-provider-ids"

var verification = Stage{
	Name: VerifyProviderIDs, Leader: atTheEnd, ChecksAlone: true,
	undo: func(Observed) bool { return false },
	after: func(transform.Target) Check {
		return Check{Stage: VerifyProviderIDs, AtLeast: SwitchToExternal, Lease: Remaining, Manager: true, External: true}
	},
}

// verified is what has to hold after a stage of a cluster that is external already: what holds in the end.
func verified(stage string) Check {
	c := verification.after(transform.Target{})
	c.Stage = stage
	return c
}

func (c Migration) verify() transform.Stage {
	by := After(VerifyProviderIDs, c.Target).Lease
	return transform.Stage{
		Why:   "An existing provider ID proves little, because in-tree kubelets wrote it and it never changes; unchanged names and no taint prove that the nodes are the same.",
		After: append([]action.Action{action.ProviderIDs()}, lists.If(c.Target.Situation.HasInTreeProvider(), leases(by.shows(), c.Target.Lease()))...),
	}
}
