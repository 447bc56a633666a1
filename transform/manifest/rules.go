// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// ruleTable is the one table of the static rules of manifests, by their names.
var ruleTable = sync.OnceValue(func() []rule { return transform.Table(sharedRules(), argumentRules(), workloadRules()) })

type rule = transform.Checked[*migration]

// inOtherManifest is a rule about what another manifest may hold.
func inOtherManifest(r transform.Rule) transform.Rule {
	r.OtherDocument = true
	return r
}

// sharedRules are those that check the same in every format.
func sharedRules() []rule {
	grant := rules.LeaseGrantMissing.WithGuards()
	grant.Rule = inOtherManifest(grant.Rule)
	return rules.Of[*migration](
		rules.CSIGateStale, rules.CloudControllersOff, rules.FlagLeftOnKCM, rules.LeaderElectionOff,
		rules.LeaseTimingsUnsafe, grant,
		rules.FlagOnExternalGate.WithGuards(rules.BothManagers...),
		rules.FlagUnknown.WithGuards(rules.BothManagers...),
	)
}

// argumentRules are those about the arguments of a manager.
func argumentRules() []rule {
	return []rule{
		{Check: (*migration).routesUnsafe, Rule: rules.CCMArgsUnsafe.Rule.WithGuards(rules.ImageMoves...).WithDoc(
			"Routes of the cloud-controller-manager are on without --cluster-cidr, and it exits when it acquires the lease.")},
		{Rule: rules.CCMFlagMissing.Rule, Check: (*migration).ccmFlagMissing},
		{Rule: inOtherManifest(rules.CCMNotInFile), Check: (*migration).ccmNotInFile},
		{Check: (*migration).skewed, Rule: rules.CCMMinorSkew.Rule.WithDoc(
			"The image of the cloud-controller-manager is of 1.28 or later, and it migrates without a LeaderMigrationConfiguration of its own. Services and routes then run in both managers.")},
		{Check: (*migration).notMounted, Rule: rules.ConfigNotMounted.WithDoc(
			"--leader-migration-config names a file that no volume mounts into the container, and the manager exits.")},
		{Check: (*migration).withoutFlag, Rule: rules.ConfigWithoutFlag.Rule.WithDoc(
			"--leader-migration-config is set without --enable-leader-migration, and is silently ignored.")},
		{Rule: rules.InTreeGone.WithGuards(rules.FlagEdits...), Check: (*migration).inTreeGone},
		{Check: (*migration).nodeRename, Rule: rules.NodeRename.WithDoc(
			"With the in-tree provider the name of a Node is the private DNS name of EC2, regardless of --hostname-override. An external kubelet uses the host name or the override, and a node whose name changes registers as a new Node. --end-state accepts it. Before the switch it is a warning.")},
		transform.Row(leadermigration.RuleNodeIPAM, transform.Error, rules.BothManagers, (*migration).ipamLost,
			"nodeipam moves to the cloud-controller-manager of AWS, which has no such controller: no new node gets its pod CIDR.").Because(leadermigration.NoNodeIPAM.Texts()),
		{Rule: rules.ProviderMixed.WithGuards(rules.BeforeSwitch...), Check: (*migration).providerMixed},
		{Check: (*migration).providerRemoved, Rule: rules.ProviderRemoved.WithDoc(
			"kube-controller-manager has leader migration on and no --cloud-provider: it holds the migration lease and runs no cloud controllers.")},
	}
}

// workloadRules are those about how a manager runs.
func workloadRules() []rule {
	return []rule{
		transform.Row("backup-in-manifest-folder", transform.Warning, rules.OfManagers, (*migration).backup,
			"The file of a static pod is named like a backup. The kubelet starts every file in its folder, except those that start with a dot. A copy runs a second manager.").Because(
			"The kubelet starts every file in the folder, so that the copy runs a second manager with the old flags.", "kubernetes/kubernetes pkg/kubelet/config/file_linux.go", "Move the copy to another folder.", "If the folder is not the one of a kubelet."),
		transform.Row("certificates-in-image", transform.Warning, rules.FlagEdits, (*migration).baked,
			"Arguments of a Deployment or DaemonSet name files that no volume mounts, so keys and certificates are in the image: everyone who can pull it has them, and they expire with it.").Because(
			"Everyone who can pull the image has the keys of the control plane, and they expire with the image.", "kubernetes docs: PKI certificates", "Mount them from a Secret.", "If the image is private and its keys are replaced with it."),
		transform.Row("circular-dependency", transform.Warning, rules.FlagEdits, (*migration).circular,
			"kube-controller-manager runs from a Deployment, whose pods only a running kube-controller-manager creates: once all of them are lost, nothing creates a new one.").Because(
			"Only a running kube-controller-manager creates pods of a Deployment: once all are gone, none returns.", "kubernetes/kubernetes pkg/controller/replicaset", "Keep a static pod on one node, or store its manifest elsewhere.", "If there is a written way to start one manually."),
		transform.Row("deployment-deadlock", transform.Error, rules.FlagEdits, (*migration).deadlock,
			"The Deployment of kube-controller-manager has one replica, the strategy Recreate, or lets as many pods go as there are: the manager that would create the new pods is stopped first.").Because(
			"The rollout stops the manager that would create the new pods, and waits for pods that no one creates.", "kubernetes/kubernetes pkg/controller/deployment", "Use two replicas or more, RollingUpdate, and maxUnavailable below the number of replicas.", "Never while it is the only manager."),
		{Rule: rules.DuplicateCluster.WithDoc(
			"Refused, with exit code 1: two folders of one kustomization or bundle of Fleet have an object with the same namespace and name. In one folder the rule is not-migratable.",
		)},
		{Rule: transform.Encrypted},
		transform.Row("host-path-in-deployment", transform.Warning, rules.FlagEdits, (*migration).hostPaths,
			"A Deployment mounts host paths: its pods can be scheduled to nodes that lack the files, or have different ones.").Because(
			"A pod on a node that lacks the files, or has other ones, does not start or uses wrong keys.", "kubernetes docs: hostPath", "Use a ConfigMap or a Secret, or select nodes that have the files.", "If all selected nodes have the same files."),
		transform.Row("host-pinned", transform.Warning, rules.FlagEdits, (*migration).pinned,
			"A Deployment selects one host by its name, so that all replicas fail with that host.").Because(
			"All replicas fail with one host.", "kubernetes docs: assigning pods to nodes", "Select control planes by their role.", "If there is one control plane."),
		{Check: (*migration).notMigratable, Rule: rules.NotMigratable.WithDoc(
			"Refused with exit code 4 by every verb: no cloud provider or another one than aws, a static pod that RKE2 writes, or Kubernetes below 1.22.")},
		transform.Row("one-active-replica", transform.Note, rules.FlagEdits, (*migration).oneActive,
			"A Deployment of kube-controller-manager has several replicas, of which one works: the others wait for its lease, and make the change of the leader faster, not the work.").Because(
			"One replica holds the lease and does all of the work.", "kubernetes docs: leases", "Nothing.", "Always; it informs."),
		{Rule: rules.ChangedByOverlay},
		{Rule: transform.Templated},
	}
}

// Findings implements transform.Cluster.
func (m *migration) Findings(stage string) []transform.Finding {
	checked := *m
	checked.stage = stage
	return transform.FindingsOf(ruleTable(), &checked, stage, m.target.Accept)
}
