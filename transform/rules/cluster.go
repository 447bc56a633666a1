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
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ChangedByOverlay refuses a document that kustomizations or Fleet change before it
// reaches a cluster; package kustomize finds them.
var ChangedByOverlay = transform.Rule{ID: "changed-by-overlay", Severity: transform.Error,
	Doc: "Refused: a kustomization or an overlay of Fleet changes the cluster, so that the file is not what reaches it, and an edit can get lost. Plan the output of `kubectl kustomize`."}.Because(
	"The file is not what reaches the cluster: the overlay can replace the list that a stage edits, and the edit is lost.", "kubernetes-sigs/kustomize: patches replace lists; rancher/fleet docs: overlays in fleet.yaml", "Plan the output of `kubectl kustomize FOLDER`, and make the printed change in the overlay.", "If the overlay changes nothing that the stages edit, such as labels or the number of machines.")

// DuplicateCluster refuses a document where another place describes the same cluster, and both are
// applied together; package clusters finds the places.
var DuplicateCluster = transform.Rule{ID: transform.RuleDuplicate, Severity: transform.Error,
	Doc: "Refused, with exit code 1: one file, folder, kustomization or bundle of Fleet describes a cluster with the same namespace and name twice. A warning where they are in different folders, which may be of different Ranchers."}.Because(
	"Both are one object for Rancher, or one cluster: the one that is applied last overwrites the other, and with it the stages that were made there.", "kubernetes docs: object names; rancher/fleet docs: bundles", "Remove one of the two, or give it its own name.", "If only one of the two is ever applied, such as a copy for another Rancher.")

// Described refuses a document whose cluster another place describes as well.
func Described(doc *yamledit.Document, id transform.Identity, other string) *transform.Refused {
	return transform.Refuse(DuplicateCluster.ID, doc.Root(), id.Title()+" is described in "+other+" as well, and the one that is applied last overwrites the other",
		"remove one of them, or correct its name; to keep both, use --accept "+DuplicateCluster.ID)
}

// NotMigratable is for clusters that every verb but lint refuses. A format describes
// which.
var NotMigratable = transform.Rule{ID: transform.RuleNotMigratable, Severity: transform.Error, Guards: TheSwitch}.Because(
	"The document holds nothing that the stages could be applied to.", "docs/rules.md, the part on what is refused", "Use a document of an RKE2 or RKE1 cluster with the provider aws, Kubernetes 1.22 or later.", "In `lint` over a repository with other clusters, so that it does not fail because of them.")

// CheckProvider refuses arguments by which a component gets a provider that is neither aws nor external: it is no
// stage's to change. Only a component that requires one cannot be without.
func CheckProvider(list []args.Arg, of string, required bool) error {
	a, set := args.Last(list, "cloud-provider")
	if !set || a.Value == inTree || a.Value == external || a.Value == "" && !required {
		return nil
	}
	return transform.NotMigratable(a.Node(), of+" has the cloud provider "+strconv.Quote(a.Value)+", which is neither aws nor external", "write cloud-provider=aws or cloud-provider=external, or remove the argument")
}

// UnknownConfigKey is for a key that nothing reads, perhaps because it is misspelt.
// Which keys are read is the format's, which checks and describes it.
var UnknownConfigKey = transform.Rule{ID: "unknown-config-key", Severity: transform.Warning, Guards: FlagEdits}.Because(
	"Rancher drops keys that the release does not have, so the value reaches no machine.", "rancher/kontainer-driver-metadata: server and agent arguments of each release", "Correct the spelling; `rke-lm lint --fix` does so where one key is near.", "If the key is for a later release.")

// StorageClassInTree is for StorageClasses in the manifests of a cluster's file, without the driver.
var StorageClassInTree = Rule{Check: inTreeClasses, Rule: transform.Rule{ID: "storage-class-in-tree", Severity: transform.Warning, Guards: TheSwitch,
	Doc: "A manifest in the file has a StorageClass with the in-tree provisioner kubernetes.io/aws-ebs, and none installs the EBS CSI driver. After the switch only that driver creates and attaches such volumes."}.Because(
	"Kubernetes passes in-tree volumes to the EBS CSI driver; without it claims stay Pending, and pods wait for their volumes.", "kubernetes/enhancements KEP-1487: CSI migration of AWS EBS, in 1.25; "+transform.SourceRemovals, "Install the EBS CSI driver before the switch, and use a StorageClass with the provisioner ebs.csi.aws.com for new claims.", "If the driver is installed in another way.")}

// inTreeClasses reports the StorageClasses at the string that holds the manifests.
func inTreeClasses(s Subject, found *transform.Findings) {
	docs, _ := s.Bundle().Documents() // none that cannot be read
	if slices.ContainsFunc(docs, func(d *yamledit.Document) bool { return strings.Contains(string(d.Bytes()), aws.CSIDriverName) }) {
		return
	}
	for _, d := range docs {
		root := d.Root()
		if by := root.StringAt("provisioner"); root.StringAt("kind") == "StorageClass" && by == aws.InTreeVolumes {
			found.At(s.Bundle().At(), "StorageClass "+root.StringAt("metadata", "name")+" has the in-tree provisioner "+by+", and after the switch only the EBS CSI driver creates and attaches its volumes",
				"install the EBS CSI driver on every node before the switch; see the guide on volumes")
		}
	}
}

// ControlPlanesAtOnce is for an upgrade strategy that restarts several control planes
// together. The migration lease still lets one manager run the cloud controllers, so it
// stops nothing.
var ControlPlanesAtOnce = transform.Checked[Restart]{Rule: transform.Rule{ID: "control-planes-at-once", Severity: transform.Warning, Guards: FlagEdits,
	Doc: "upgradeStrategy lets several control planes restart at once: controlPlaneConcurrency of RKE2, which counts for control planes without etcd, and max_unavailable_controlplane of RKE1. Their kube-apiservers and kube-controller-managers are down together, and the time in which no manager runs the cloud controllers is longer. Two managers still never run them at once, because of the migration lease."}.Because(
	"Several control planes restart together: the API is down, and the time in which no manager runs the cloud controllers is longer.", "rancher/rancher pkg/capr/planner/planner.go: controlPlaneConcurrency; rancher/rke: max_unavailable_controlplane", "Set the concurrency of control planes to 1 for the migration.", "If an outage of the API during the switch is acceptable."),
	Check: func(r Restart, found *transform.Findings) {
		if r.Most < 2 {
			return
		}
		many := fmt.Sprintf("up to %d", r.Most)
		if r.Most >= r.All {
			many = "all"
		}
		found.At(r.At, r.By+" restarts "+many+" of the "+r.Of+" at once: their kube-apiservers and kube-controller-managers are down together, and no manager runs the cloud controllers for longer than in a rollout one by one",
			"set "+r.Key+` to "1" for the migration`)
	}}

// Restart is how many control planes a strategy takes at once.
type Restart struct {
	At        yamledit.Node // the strategy
	By        string        // the program that restarts them
	Most, All int           // that many of all
	Of        string        // what they are called
	Key       string        // what to set to one
}

// MostControlPlanes is taken for a number of control planes that a document does not
// tell: an upper bound.
const MostControlPlanes = 5

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

// InTreeGone is for the in-tree provider on a release without it.
var InTreeGone = transform.Rule{ID: "in-tree-gone", Severity: transform.Error, Guards: EveryEdit,
	Doc: "The provider is aws at Kubernetes 1.27 or later, where the in-tree provider no longer exists."}.Because(
	"Kubernetes 1.27 removed the in-tree provider: kubelet, kube-controller-manager and from 1.29 on kube-apiserver exit with aws.", transform.SourceRemovals, "Migrate before 1.27; for a cluster that is past it, follow the stages of docs/past-1.26.md.", "")

// IsInTreeGone checks the release that the cluster runs or is about to move to. The switch
// moves it in the same edit, so the stages before do not answer for the target.
func IsInTreeGone(u k8s.Upgrade, stage string) bool {
	version := u.From
	if stage == "" {
		version = u.Reached()
	}
	return k8s.From(version, aws.FirstWithout)
}

// FindInTreeProvider is about what makes a component in-tree. A cluster that runs such a release has no
// manager to migrate from; one that is about to move to it still has.
func FindInTreeProvider(n yamledit.Node, u k8s.Upgrade, found *transform.Findings) {
	const removed = "the provider is aws, which Kubernetes 1.27 and later do not have"
	if !k8s.From(u.From, aws.FirstWithout) {
		found.At(n, removed, "migrate on 1.26, before the upgrade")
		return
	}
	found.At(n, removed+": components with it do not start", "apply the stages that rke-lm plan shows for this release; see docs/past-1.26.md")
}

// FindInTreeImage is about an image with which a component is of another release than the cluster. It reports whether that
// release lacks the in-tree provider.
func FindInTreeImage(n yamledit.Node, found *transform.Findings) bool {
	tag := k8s.ParseImage(n.StringAt()).Tag
	removed := k8s.From(tag, aws.FirstWithout)
	if removed {
		found.At(n, "the provider is aws, which the image of Kubernetes "+tag+" does not have", "use the image of the cluster's release; migrate on 1.26, before the upgrade")
	}
	return removed
}

// ProviderMixed is for a cluster that is half switched: some components or machines are in-tree,
// and others external. From 1.27 on the in-tree ones do not start, which is InTreeGone.
var ProviderMixed = transform.Checked[[]Provided]{Rule: transform.Rule{ID: "provider-mixed", Severity: transform.Warning, Guards: slices.Concat([]string{stages.GrantMigrationLease}, BeforeSwitch),
	Doc: "Components or machines of one cluster have different cloud providers: some are aws, others external. The finding lists which."}.Because(
	"A node with an external kubelet keeps the taint for uninitialized nodes until a cloud-controller-manager runs, while an in-tree kube-controller-manager still manages the load balancers.", transform.SourceMigration, "Set aws everywhere, and let switch-to-external change all of them.", "If the machines are moved in a fixed order, and a cloud-controller-manager runs."),
	Check: func(list []Provided, found *transform.Findings) {
		of, at := map[string][]string{}, yamledit.Node{}
		for _, p := range list {
			if of[p.Provider] = append(of[p.Provider], p.What); p.Provider == external && !at.Exists() {
				at = p.At
			}
		}
		if len(of[inTree]) == 0 || len(of[external]) == 0 || k8s.From(list[0].Version, aws.FirstWithout) {
			return
		}
		found.At(at, "the cluster is half switched; "+inTree+": "+strings.Join(of[inTree], ", ")+"; "+external+": "+strings.Join(of[external], ", "),
			"set "+inTree+" for all of them; "+stages.SwitchToExternal+" makes all of them external in one edit")
	}}

// Provided is a component of some machines with its provider.
type Provided struct {
	What, Provider string
	At             yamledit.Node
	Version        string // of the cluster
}

// ProviderRemoved is for clusters that lost their provider. What shows that they had
// one is the format's, which checks and describes it.
var ProviderRemoved = transform.Rule{ID: "provider-removed", Severity: transform.Error, Guards: TheSwitch}.Because(
	"Without a provider RKE2 starts its own stub, which gives new nodes the provider ID rke2://. It cannot be changed afterwards.", "rancher/rke2 pkg/rke2/rke2_linux.go; k3s-io/k3s pkg/cloudprovider", "Set cloud-provider-name to external, do not remove it.", "")

// NodeRename is for nodes that get another name with an external provider, or may get one. How
// they get their names is the format's, which describes it.
var NodeRename = transform.Rule{ID: "node-rename", Severity: transform.Error, Guards: TheSwitch}.Because(
	"A node that restarts under another name registers as a new Node; its volumes, labels and pods stay with the old one.", transform.SourceNodeNames+"; rancher/machine commands/create.go, writeCloudConfig; rancher/rke2 #7336, #7343, #7346", "Choose aws-override, which keeps the names. For custom machines, show with --host-names that every node's name is its host name. The label kubernetes.io/hostname shows nothing on RKE2: it is the name of the Node.", "If the nodes can be registered again under other names, one at a time, with a cloud-controller-manager of 1.30 or later.")

// NamesOpen reports whether an operator has to answer for names of which the document shows nothing.
// The choice of an end state is an answer only where no host name was read.
func NamesOpen(t transform.Target) bool {
	return !t.HostNames.Equal() && (t.EndState == "" || len(t.HostNames) > 0)
}

// RenameAt is an error of the switch. A document that is still in-tree is warned of it.
func RenameAt(n yamledit.Node, stage, message, fix string, found *transform.Findings) {
	if f := found.At(n, message, fix); stage == "" {
		f.Severity = transform.Warning
	}
}

// NamesAnswer is how an operator keeps the names, or accepts others, where the end state is chosen.
func NamesAnswer(t transform.Target) string {
	switch t.EndStateBy {
	case transform.EndStateByFlag:
		return "remove --end-state: aws-override then keeps the names; or accept the new names with --accept node-rename"
	case transform.EndStateByObject:
		return "create a LeaderMigration without end-state: aws-override then keeps the names; or accept the new names with accept: [node-rename] in a LeaderMigrationApproval of the wave, and set the annotation rke-lm.io/retry"
	case "":
		return "choose --end-state aws-override, which keeps the names; or accept the new names with --accept node-rename"
	}
	return "remove end-state from " + t.EndStateBy + ": aws-override then keeps the names; or accept the new names with the line accept: [node-rename] there"
}

// NamesMissing is how an operator completes names of which some are not known, or answers otherwise; "" where none was read.
func NamesMissing(t transform.Target, otherwise string) string {
	if list := t.HostNames.Unknown(); len(list) > 0 {
		return "add the host names of " + Some(list) + " to the file of --host-names; or " + otherwise
	}
	return ""
}

// Some names the first few of a list.
func Some(list []string) string { return lists.Few(list, 3) }
