// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
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
func (c Cluster) Upgrade(own transform.Stage) transform.Stage {
	own.Why = upgradeWhy + own.Why
	own.Caution, own.Permanent = noReturn, true
	own.Before = append(own.Before, Rollout("before the edit, the cloud-controller-manager must run on every control plane, with an image of the cluster's minor"))
	own.Verify = append(own.Verify, action.ProviderIDs())
	return own
}

// UpgradedCCM completes the stage that moves the cloud-controller-manager.
func (c Cluster) UpgradedCCM(own transform.Stage) transform.Stage {
	own.Why = strings.TrimSpace(upgradeManagerWhy + own.Why)
	own.Caution, own.Permanent = noReturn, true
	own.Verify = append(own.Verify, c.managerRuns())
	return own
}

// UpgradeNotInFile is the stage of a cluster whose document does not hold the
// cloud-controller-manager; tag is the image's that belongs to its minor.
func (c Cluster) UpgradeNotInFile(tag string, own transform.Stage) transform.Stage {
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
