// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// InTreeGone is for the in-tree provider on a release without it.
var InTreeGone = transform.Rule{
	ID: "in-tree-gone", Severity: transform.Error, Guards: EveryEdit,
	Doc: "The provider is aws at Kubernetes 1.27 or later, where the in-tree provider no longer exists.",
}.Because("Kubernetes 1.27 removed the in-tree provider: kubelet, kube-controller-manager and from 1.29 on kube-apiserver exit with aws.", transform.SourceRemovals, "Migrate before 1.27; for a cluster that is past it, follow the stages of docs/past-1.26.md.", "")

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
	image, _ := n.String()
	tag := k8s.ParseImage(image).Tag
	removed := k8s.From(tag, aws.FirstWithout)
	if removed {
		found.At(n, "the provider is aws, which the image of Kubernetes "+tag+" does not have", "use the image of the cluster's release; migrate on 1.26, before the upgrade")
	}
	return removed
}

// ProviderMixed is for a cluster that is half switched: some components or machines are in-tree,
// and others external. From 1.27 on the in-tree ones do not start, which is InTreeGone.
var ProviderMixed = transform.Rule{
	ID: "provider-mixed", Severity: transform.Warning, Guards: slices.Concat([]string{stages.GrantMigrationLease}, BeforeSwitch),
	Doc: "Components or machines of one cluster have different cloud providers: some are aws, others external. The finding lists which.",
}.Because("A node with an external kubelet keeps the taint for uninitialized nodes until a cloud-controller-manager runs, while an in-tree kube-controller-manager still manages the load balancers.", transform.SourceMigration, "Set aws everywhere, and let switch-to-external change all of them.", "If the machines are moved in a fixed order, and a cloud-controller-manager runs.")

// Provided is a component of some machines with its provider.
type Provided struct {
	What, Provider string
	At             yamledit.Node
}

// Mixed compares what the components of a cluster have.
func Mixed(list []Provided, version string, found *transform.Findings) {
	of, at := map[string][]string{}, yamledit.Node{}
	for _, p := range list {
		if of[p.Provider] = append(of[p.Provider], p.What); p.Provider == external && !at.Exists() {
			at = p.At
		}
	}
	if len(of[inTree]) == 0 || len(of[external]) == 0 || k8s.From(version, aws.FirstWithout) {
		return
	}
	found.At(at, "the cluster is half switched; "+inTree+": "+strings.Join(of[inTree], ", ")+"; "+external+": "+strings.Join(of[external], ", "),
		"set "+inTree+" for all of them; "+stages.SwitchToExternal+" makes all of them external in one edit")
}

// ProviderRemoved is for clusters that lost their provider. What shows that they had
// one is the format's, which checks and describes it.
var ProviderRemoved = transform.Rule{ID: "provider-removed", Severity: transform.Error, Guards: TheSwitch}.Because(
	"Without a provider RKE2 starts its own stub, which gives new nodes the provider ID rke2://. It cannot be changed afterwards.", "rancher/rke2 pkg/rke2/rke2_linux.go; k3s-io/k3s pkg/cloudprovider", "Set cloud-provider-name to external, do not remove it.", "")
