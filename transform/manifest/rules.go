// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// What rules guard. An earlier stage does not answer for what a later one puts
// right.
var (
	theManager   = []string{stages.EnableLeaderMigration, stages.SwitchToExternal}
	cloudRuns    = []string{stages.InstallCCM, stages.DisableLeaderMigration}
	bothManagers = []string{stages.EnableLeaderMigration, stages.InstallCCM, stages.SwitchToExternal}
	everyEdit    = []string{stages.EnableLeaderMigration, stages.InstallCCM, stages.SwitchToExternal, stages.DisableLeaderMigration}
)

// ruleTable is the one table of the static rules of manifests, by their names.
var ruleTable = sync.OnceValue(func() []transform.Checked[*migration] {
	table := append(argumentRules(), workloadRules()...)
	slices.SortFunc(table, func(a, b transform.Checked[*migration]) int { return strings.Compare(a.ID, b.ID) })
	return table
})

// elsewhereRule is a rule about what another manifest may hold.
func elsewhereRule(r transform.Rule) transform.Rule {
	r.Elsewhere = true
	return r
}

// argumentRules are those about the arguments of a manager.
func argumentRules() []transform.Checked[*migration] {
	return []transform.Checked[*migration]{
		{Rule: rules.CCMArgsUnsafe.WithGuards(cloudRuns...).WithDoc(
			"Routes of the cloud-controller-manager are on without --cluster-cidr, and it exits when it acquires the lease.",
		), Check: (*migration).routesUnsafe},
		{Rule: rules.CCMFlagMissing.Rule, Check: (*migration).ccmFlagMissing},
		{Rule: elsewhereRule(rules.CCMNotInFile.Rule), Check: (*migration).ccmNotInFile},
		{Rule: rules.CCMMinorSkew.WithDoc(
			"The image of the cloud-controller-manager is of 1.28 or later and takes part in the migration without a LeaderMigrationConfiguration of its own, so services and routes run in both managers.",
		), Check: (*migration).skewed},
		{Rule: rules.ConfigNotMounted.WithDoc(
			"--leader-migration-config names a file that no volume mounts into the container, and the manager exits.",
		), Check: (*migration).notMounted},
		{Rule: rules.ConfigWithoutFlag.WithDoc(
			"--leader-migration-config is set without --enable-leader-migration, and is silently ignored.",
		), Check: (*migration).withoutFlag},
		{Rule: rules.CSIGateStale.Rule, Check: (*migration).csiGateStale},
		{Rule: rules.FlagLeftOnKCM.Rule, Check: (*migration).flagLeftOnKCM},
		{Rule: rules.FlagOnExternalGate.WithGuards(bothManagers...), Check: (*migration).flagOnExternalGate},
		{Rule: rules.FlagUnknown.WithGuards(bothManagers...), Check: (*migration).flagUnknown},
		{Rule: rules.InTreeGone.WithGuards(theManager...), Check: (*migration).inTreeGone},
		{Rule: rules.LeaderElectionOff.Rule, Check: (*migration).leaderElectionOff},
		{Rule: elsewhereRule(rules.LeaseGrantMissing.WithGuards()), Check: (*migration).leaseGrantMissing},
		{Rule: rules.NodeRename.WithDoc(
			"With the in-tree provider the name of a Node is the private DNS name of EC2, regardless of --hostname-override; an external kubelet uses the host name or the override, and a node whose name changes registers as a new Node. --end-state acknowledges it; before the switch it is a warning.",
		), Check: (*migration).nodeRename},
		{Rule: transform.Rule{
			ID: leadermigration.RuleNodeIPAM, Severity: transform.Error, Guards: bothManagers, Acceptable: true,
			Doc: "nodeipam moves to the cloud-controller-manager of AWS, which has no such controller: no new node gets its pod CIDR.",
		}, Check: (*migration).ipamLost},
		{Rule: rules.ProviderMixed.WithGuards(stages.EnableLeaderMigration, stages.InstallCCM), Check: (*migration).providerMixed},
		{Rule: rules.ProviderRemoved.WithDoc(
			"kube-controller-manager has leader migration on and no --cloud-provider: it holds the migration lease and runs no cloud controllers.",
		), Check: (*migration).providerRemoved},
	}
}

// workloadRules are those about how a manager runs.
func workloadRules() []transform.Checked[*migration] {
	return []transform.Checked[*migration]{
		{Rule: transform.Rule{
			ID: "backup-in-manifest-folder", Severity: transform.Warning, Guards: everyEdit, Acceptable: true,
			Doc: "The file of a static pod is named like a backup. The kubelet starts every file in its folder whose name does not start with a dot, so a copy next to the original runs a second manager.",
		}, Check: (*migration).backup},
		{Rule: transform.Rule{
			ID: "certificates-in-image", Severity: transform.Warning, Guards: theManager, Acceptable: true,
			Doc: "Arguments of a Deployment or DaemonSet name files that no volume mounts, so keys and certificates are in the image: everyone who can pull it has them, and they expire with it.",
		}, Check: (*migration).baked},
		{Rule: transform.Rule{
			ID: "circular-dependency", Severity: transform.Warning, Guards: theManager, Acceptable: true,
			Doc: "kube-controller-manager runs from a Deployment, whose pods only a running kube-controller-manager creates: once all of them are lost, nothing creates a new one.",
		}, Check: (*migration).circular},
		{Rule: transform.Rule{
			ID: "deployment-deadlock", Severity: transform.Error, Guards: theManager, Acceptable: true,
			Doc: "The Deployment of kube-controller-manager has one replica, the strategy Recreate, or lets as many pods go as there are: the manager that would create the new pods is stopped first.",
		}, Check: (*migration).deadlock},
		{Rule: rules.DuplicateCluster.WithDoc(
			"Refused, with exit code 1: two folders of one kustomization or bundle of Fleet have an object with the same namespace and name. In one folder the rule is not-migratable.",
		)},
		{Rule: transform.Encrypted},
		{Rule: transform.Rule{
			ID: "host-path-in-deployment", Severity: transform.Warning, Guards: theManager, Acceptable: true,
			Doc: "A Deployment mounts host paths: its pods can be scheduled to nodes that lack the files, or have different ones.",
		}, Check: (*migration).hostPaths},
		{Rule: transform.Rule{
			ID: "host-pinned", Severity: transform.Warning, Guards: theManager, Acceptable: true,
			Doc: "A Deployment selects one host by its name, so that all replicas fail with that host.",
		}, Check: (*migration).pinned},
		{Rule: rules.NotMigratable.WithDoc(
			"Refused with exit code 4 by every verb: no cloud provider or another one than aws, a static pod that RKE2 writes, or Kubernetes below 1.22.",
		), Check: (*migration).notMigratable},
		{Rule: transform.Rule{
			ID: "one-active-replica", Severity: transform.Note, Guards: theManager, Acceptable: true,
			Doc: "A Deployment of kube-controller-manager has several replicas, of which one works: the others wait for its lease, and make the change of the leader faster, not the work.",
		}, Check: (*migration).oneActive},
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
