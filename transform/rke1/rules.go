// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"slices"
	"strings"
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// rule is a row of the table.
type rule = transform.Checked[*migration]

// What rules guard. An earlier stage does not answer for what a later one puts
// right.
var (
	everyEdit = []string{stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.SwitchToExternal}
	flagEdits = []string{stages.EnableLeaderMigration, stages.SwitchToExternal}
	theSwitch = []string{stages.SwitchToExternal}

	// Those of the values file.
	bothManagers = []string{stages.EnableLeaderMigration, stages.InstallCCM, stages.SwitchToExternal}
	imageMoves   = []string{stages.InstallCCM, stages.DisableLeaderMigration}
)

// ruleMetadataUnset is also a choice: accepting it leaves the names to the operator.
const ruleMetadataUnset = "metadata-hostname-unset"

// ruleTable is the one table of RKE's static rules, by their names.
var ruleTable = sync.OnceValue(func() []rule {
	table := slices.Concat(providerRules(), nodeRules(), argumentRules())
	slices.SortFunc(table, func(a, b rule) int { return strings.Compare(a.ID, b.ID) })
	return table
})

// providerRules are those about what the stages change and what they rest on.
func providerRules() []rule {
	return []rule{
		{Rule: transform.Rule{
			ID: "aws-block-resets", Severity: transform.Error, Guards: theSwitch, Acceptable: true,
			Doc: "The block awsCloudProvider is set with external-aws: RKE selects the provider by the block and changes it back to aws.",
		}, Check: (*migration).awsBlockResets},
		{Rule: rules.CCMArgsUnsafe.WithDoc(
			"Addons or the values file run a cloud-controller-manager that exits because of its arguments: routes are on without --cluster-cidr, or --cloud-provider is not aws.",
		), Check: (*migration).ccmArgsUnsafe},
		{Rule: rules.CCMFlagMissing.WithGuards(bothManagers...), Check: (*migration).ccmFlagMissing},
		{Rule: rules.CCMMinorSkew.WithGuards(imageMoves...).WithDoc(
			"The minor of the image in the values file is not the cluster's. From 1.28 on the image also needs a LeaderMigrationConfiguration of its own, or services and routes run in both managers.",
		), Check: (*migration).ccmMinorSkew},
		{Rule: rules.CCMUnschedulable.Rule, Check: (*migration).ccmUnschedulable},
		{Rule: rules.ChartUnpinned.WithDoc(
			"The values file names no image tag, so that a new version of the chart changes the cluster.",
		), Check: (*migration).chartUnpinned},
		{Rule: rules.CCMNotInFile.Rule, Check: (*migration).ccmNotInFile},
		{Rule: rules.CloudConfigLost.WithDoc(
			"The provider has a configuration, which an external provider ignores. A note for cloud_provider, which the stages copy to the cloud-controller-manager; an error for a file in the arguments of kube-controller-manager, which they do not copy.",
		), Check: (*migration).cloudConfigLost},
		{Rule: rules.DuplicateCluster},
		{Rule: transform.Encrypted},
		{Rule: rules.FlagLeftOnKCM.Rule, Check: (*migration).flagLeftOnKCM},
		{Rule: rules.InTreeGone.Rule, Check: (*migration).inTreeGone},
		{Rule: rules.LeaseGrantMissing.Rule, Check: (*migration).leaseGrantMissing},
		{Rule: rules.NotMigratable.WithDoc(
			"Refused with exit code 4 by every verb: no cloud provider or another one than aws, the name external included, or Kubernetes below 1.22. A cluster for Windows is a warning.",
		), Check: (*migration).notMigratable},
		{Rule: rules.StorageClassInTree.Rule, Check: (*migration).storageClassInTree},
		{Rule: rules.ProviderMixed.Rule, Check: (*migration).providerMixed},
		{Rule: rules.ProviderRemoved.WithDoc(
			"No cloud provider is set, and the file shows that the cluster had one: leader migration, a cloud-controller-manager in addons, or useInstanceMetadataHostname. Without a provider nodes lose the names from EC2 (rancher/rancher #22851).",
		), Check: (*migration).providerRemoved},
		{Rule: transform.Templated},
	}
}

// nodeRules are those about the nodes, and what runs them.
func nodeRules() []rule {
	return []rule{
		{Rule: rules.ControlPlanesAtOnce.Rule, Check: (*migration).controlPlanesAtOnce},
		{Rule: transform.Rule{
			ID: "metadata-hostname-conflict", Severity: transform.Error, Guards: theSwitch, Acceptable: true,
			Doc: "useInstanceMetadataHostname is true and a node has a hostname_override of its own: only one of the two can set its name.",
		}, Check: (*migration).metadataConflict},
		{Rule: transform.Rule{
			ID: ruleMetadataUnset, Severity: transform.Error, Guards: theSwitch, Acceptable: true,
			Doc: "The provider is external-aws, and neither useInstanceMetadataHostname nor a hostname_override names a node: it loses the name from EC2 and registers as a new Node. If you accept the rule, the switch does not set the former.",
		}, Check: (*migration).metadataUnset},
		{Rule: transform.Rule{
			ID: "metadata-hostname-unsupported", Severity: transform.Error, Guards: theSwitch, Acceptable: true,
			Doc: "useInstanceMetadataHostname is true on a release whose kubelet cannot read its name from the metadata: below 1.25.14, 1.26.9 or 1.27.6.",
		}, Check: (*migration).metadataUnsupported},
		{Rule: transform.Rule{
			ID: "node-address-missing", Severity: transform.Error, Guards: theSwitch, Acceptable: true,
			Doc: "A node has neither internal_address nor a hostname_override of its own, and with external-aws RKE finds it by one of the two. A warning if its address is a private one, which RKE uses instead.",
		}, Check: (*migration).nodeAddressMissing},
		{Rule: transform.Rule{
			ID: "rke-too-old", Severity: transform.Error, Guards: theSwitch, Acceptable: true,
			Doc: "external-aws needs RKE 1.4.15 or 1.5.0, or Rancher 2.7.11 or 2.8.0 to 2.11: 2.12 removed RKE. A note unless --rke-version or --rancher-version names one.",
		}, Check: (*migration).rkeTooOld},
	}
}

// argumentRules are those about the arguments of components.
func argumentRules() []rule {
	return []rule{
		{Rule: rules.ConfigNotMounted.WithGuards(flagEdits...).WithDoc(
			"leader-migration-config of kube-controller-manager names a file outside of /etc/kubernetes that no entry of extra_binds mounts, and the manager exits.",
		), Check: (*migration).configNotMounted},
		{Rule: rules.ConfigWithoutFlag.WithGuards(flagEdits...).WithDoc(
			"kube-controller-manager has leader-migration-config without enable-leader-migration, and silently ignores the configuration.",
		), Check: (*migration).configWithoutFlag},
		{Rule: rules.CSIGateStale.Rule, Check: (*migration).csiGateStale},
		{Rule: transform.Rule{
			ID: "extra-args-type", Severity: transform.Error, Guards: everyEdit, Acceptable: true,
			Doc: "A value in extra_args is not a string. Rancher's API rejects it; RKE itself accepts it, so it is a note in a cluster.yml.",
		}, Check: (*migration).extraArgsType, Fix: (*migration).quoteExtraArgs},
		{Rule: rules.FlagUnknown.Rule, Check: (*migration).flagUnknown},
		{Rule: rules.FlagOnExternalGate.Rule, Check: (*migration).flagOnExternalGate},
		{Rule: rules.LeaderElectionOff.WithGuards(flagEdits...), Check: (*migration).leaderElectionOff},
		{Rule: rules.UnknownConfigKey.WithDoc(
			"A service in a cluster.yml is written with an underscore (kube_controller), as in Rancher's templates; RKE itself ignores it.",
		), Check: (*migration).unknownService, Fix: (*migration).spellServices},
	}
}

// Findings implements transform.Cluster.
func (m *migration) Findings(stage string) []transform.Finding {
	checked := *m
	checked.stage = stage
	return transform.FindingsOf(ruleTable(), &checked, stage, m.target.Accept)
}

// Fixes implements transform.Fixer.
func (m *migration) Fixes() []transform.Fix { return transform.FixesOf(ruleTable(), m) }
