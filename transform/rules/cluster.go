// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ChangedByOverlay refuses a document that kustomizations or Fleet change before it
// reaches a cluster; package kustomize finds them.
var ChangedByOverlay = transform.Rule{
	ID: "changed-by-overlay", Severity: transform.Error,
	Doc: "Refused: a kustomization or an overlay of Fleet changes the cluster, so that the file is not what reaches it, and an edit can get lost. Plan the output of `kubectl kustomize`.",
}.Because("The file is not what reaches the cluster: the overlay can replace the list that a stage edits, and the edit is lost.", "kubernetes-sigs/kustomize: patches replace lists; rancher/fleet docs: overlays in fleet.yaml", "Plan the output of `kubectl kustomize FOLDER`, and make the printed change in the overlay.", "If the overlay changes nothing that the stages edit, such as labels or the number of machines.")

// DuplicateCluster refuses a document where another place describes the same cluster, and both are
// applied together; package clusters finds the places.
var DuplicateCluster = transform.Rule{
	ID: transform.RuleDuplicate, Severity: transform.Error,
	Doc: "Refused, with exit code 1: one file, folder, kustomization or bundle of Fleet describes a cluster with the same namespace and name twice. A warning where they are in different folders, which may be of different Ranchers.",
}.Because("Both are one object for Rancher, or one cluster: the one that is applied last overwrites the other, and with it the stages that were made there.", "kubernetes docs: object names; rancher/fleet docs: bundles", "Remove one of the two, or give it its own name.", "If only one of the two is ever applied, such as a copy for another Rancher.")

// Described refuses a document whose cluster another place describes as well.
func Described(doc *yamledit.Document, id transform.Identity, other string) *transform.Refused {
	return transform.Refuse(DuplicateCluster.ID, doc.Root(), id.Title()+" is described in "+other+" as well, and the one that is applied last overwrites the other",
		"remove one of them, or correct its name; to keep both, use --accept "+DuplicateCluster.ID)
}

// NotMigratable is for clusters that every verb but lint refuses. A format describes
// which.
var NotMigratable = transform.Rule{
	ID: transform.RuleNotMigratable, Severity: transform.Error, Guards: TheSwitch,
}.Because("The document holds nothing that the stages could be applied to.", "docs/rules.md, the part on what is refused", "Use a document of an RKE2 or RKE1 cluster with the provider aws, Kubernetes 1.22 or later.", "In `lint` over a repository with other clusters, so that it does not fail because of them.")

// UnknownProvider refuses an argument by which a component gets a provider that is
// neither aws nor external. of says whose argument it is.
func UnknownProvider(a args.Arg, of string) error {
	return transform.NotMigratable(a.Node(), of+" has the cloud provider "+strconv.Quote(a.Value)+", which is neither aws nor external", "write cloud-provider=aws or cloud-provider=external, or remove the argument")
}

// UnknownConfigKey is for a key that nothing reads, perhaps because it is misspelt.
// Which keys are read is the format's, which checks and describes it.
var UnknownConfigKey = transform.Rule{ID: "unknown-config-key", Severity: transform.Warning, Guards: FlagEdits}.Because(
	"Rancher drops keys that the release does not have, so the value reaches no machine.", "rancher/kontainer-driver-metadata: server and agent arguments of each release", "Correct the spelling; `rke-lm lint --fix` does so where one key is near.", "If the key is for a later release.")

// StorageClassInTree is for StorageClasses in the manifests of a cluster's file, without the driver.
var StorageClassInTree = transform.Rule{
	ID: "storage-class-in-tree", Severity: transform.Warning, Guards: TheSwitch,
	Doc: "A manifest in the file has a StorageClass with the in-tree provisioner kubernetes.io/aws-ebs, and none installs the EBS CSI driver. After the switch only that driver creates and attaches such volumes.",
}.Because("Kubernetes passes in-tree volumes to the EBS CSI driver; without it claims stay Pending, and pods wait for their volumes.", "kubernetes/enhancements KEP-1487: CSI migration of AWS EBS, in 1.25; "+transform.SourceRemovals, "Install the EBS CSI driver before the switch, and use a StorageClass with the provisioner ebs.csi.aws.com for new claims.", "If the driver is installed in another way.")

// InTreeClasses reports the StorageClasses at the string that holds the manifests.
func InTreeClasses(docs []*yamledit.Document, at yamledit.Node, found *transform.Findings) {
	if slices.ContainsFunc(docs, func(d *yamledit.Document) bool { return strings.Contains(string(d.Bytes()), aws.CSIDriverName) }) {
		return
	}
	for _, d := range docs {
		root := d.Root()
		if by := root.StringAt("provisioner"); root.StringAt("kind") == "StorageClass" && by == aws.InTreeVolumes {
			found.At(at, "StorageClass "+root.StringAt("metadata", "name")+" has the in-tree provisioner "+by+", and after the switch only the EBS CSI driver creates and attaches its volumes",
				"install the EBS CSI driver on every node before the switch; see the guide on volumes")
		}
	}
}

// ControlPlanesAtOnce is for an upgrade strategy that restarts several control planes
// together. The migration lease still lets one manager run the cloud controllers, so it
// stops nothing.
var ControlPlanesAtOnce = transform.Rule{
	ID: "control-planes-at-once", Severity: transform.Warning, Guards: FlagEdits,
	Doc: "upgradeStrategy lets several control planes restart at once: controlPlaneConcurrency of RKE2, which counts for control planes without etcd, and max_unavailable_controlplane of RKE1. Their kube-apiservers and kube-controller-managers are down together, and the time in which no manager runs the cloud controllers is longer. Two managers still never run them at once, because of the migration lease.",
}.Because("Several control planes restart together: the API is down, and the time in which no manager runs the cloud controllers is longer.", "rancher/rancher pkg/capr/planner/planner.go: controlPlaneConcurrency; rancher/rke: max_unavailable_controlplane", "Set the concurrency of control planes to 1 for the migration.", "If an outage of the API during the switch is acceptable.")

// Restart is how many control planes a strategy takes at once.
type Restart struct {
	By        string // the program that restarts them
	Most, All int    // that many of all
	Of        string // what they are called
	Key       string // what to set to one
}

// MostControlPlanes is taken for a number of control planes that a document does not
// tell: an upper bound.
const MostControlPlanes = 5

// AtOnce evaluates a strategy at a node.
func AtOnce(at yamledit.Node, r Restart, found *transform.Findings) {
	if r.Most < 2 {
		return
	}
	many := fmt.Sprintf("up to %d", r.Most)
	if r.Most >= r.All {
		many = "all"
	}
	found.At(at, r.By+" restarts "+many+" of the "+r.Of+" at once: their kube-apiservers and kube-controller-managers are down together, and no manager runs the cloud controllers for longer than in a rollout one by one",
		"set "+r.Key+` to "1" for the migration`)
}

// Concurrency reads how many of all machines a strategy takes at once: a number, or a
// percentage, which is rounded. ok is false for anything else.
func Concurrency(value any, all int, round func(float64) float64) (n int, ok bool) {
	text := fmt.Sprint(value)
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	return int(round(float64(all) * percent / 100)), err == nil
}
