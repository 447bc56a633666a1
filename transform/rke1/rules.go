// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// rule is a row of the table.
type rule = transform.Checked[*migration]

// ruleMetadataUnset is also a choice: accepting it leaves the names to the operator.
const ruleMetadataUnset = "metadata-hostname-unset"

// ruleTable is the one table of RKE's static rules, by their names.
var ruleTable = sync.OnceValue(func() []rule {
	return transform.Table(sharedRules(), providerRules(), nodeRules(), argumentRules())
})

// sharedRules are those that check the same in every format.
func sharedRules() []rule {
	return rules.Of[*migration](
		rules.CCMUnschedulable, rules.CSIGateStale, rules.CloudControllersOff, rules.FlagLeftOnKCM,
		rules.FlagOnExternalGate, rules.FlagUnknown, rules.LeaseGrantMissing, rules.LeaseTimingsUnsafe,
		rules.LeaderElectionOff.WithGuards(rules.FlagEdits...),
		rules.CCMMinorSkew.WithGuards(rules.ImageMoves...).WithDoc(
			"The minor of the image in the values file is not the cluster's. From 1.28 on the image also needs a LeaderMigrationConfiguration of its own, or services and routes run in both managers."),
		rules.ChartUnpinned.WithDoc(
			"The values file names no image tag, so that a new version of the chart changes the cluster."),
		rules.ConfigWithoutFlag.WithGuards(rules.FlagEdits...).WithDoc(
			"kube-controller-manager has leader-migration-config without enable-leader-migration, and silently ignores the configuration."),
	)
}

// providerRules are those about what the stages change and what they rest on.
func providerRules() []rule {
	return []rule{
		transform.Row("aws-block-resets", transform.Error, rules.TheSwitch, (*migration).awsBlockResets,
			"The block awsCloudProvider is set with external-aws: RKE selects the provider by the block and changes it back to aws.").Because(
			"RKE chooses the provider by the block, and overwrites external-aws with aws.", transform.SourceRKE, "Remove awsCloudProvider; its settings go to the manager with --cloud-config.", "Never with external-aws."),
		{Check: (*migration).ccmArgsUnsafe, Rule: rules.CCMArgsUnsafe.Rule.WithDoc(
			"Addons or the values file run a cloud-controller-manager that exits because of its arguments: routes are on without --cluster-cidr, or --cloud-provider is not aws.")},
		{Rule: rules.CCMFlagMissing.Rule.WithGuards(rules.BothManagers...), Check: (*migration).ccmFlagMissing},
		{Rule: rules.CCMNotInFile, Check: (*migration).ccmNotInFile},
		{Check: (*migration).cloudConfigLost, Rule: rules.CloudConfigLost.WithDoc(
			"The provider has a configuration, which an external provider ignores. A note for cloud_provider, which the stages copy to the cloud-controller-manager. An error for a file in the arguments of kube-controller-manager, which they do not copy.")},
		{Rule: rules.DuplicateCluster},
		{Rule: transform.Encrypted},
		{Rule: rules.InTreeGone, Check: (*migration).inTreeGone},
		{Check: (*migration).notMigratable, Rule: rules.NotMigratable.WithDoc(
			"Refused with exit code 4 by every verb: no cloud provider or another one than aws, the name external included, or Kubernetes below 1.22. A cluster for Windows is a warning.")},
		transform.Row("rke-template", transform.Error, rules.EveryEdit, (*migration).template,
			"The object names the revision of an RKE template: Rancher's API takes the configuration from there, so an edit of the cluster is lost.").Because(
			"Rancher's API sets the configuration of such a cluster from the template and its answers.", "rancher/rancher pkg/api/norman/store/cluster/cluster_store.go: loadDataFromTemplate", "Make the change in a revision of the template.", "If the change is made in the template as well."),
		{Rule: rules.StorageClassInTree, Check: (*migration).storageClassInTree},
		{Rule: rules.ProviderMixed, Check: (*migration).providerMixed},
		{Check: (*migration).providerRemoved, Rule: rules.ProviderRemoved.WithDoc(
			"No cloud provider is set, and the file shows that the cluster had one: leader migration, a cloud-controller-manager in addons, or useInstanceMetadataHostname. Without a provider nodes lose the names from EC2 (rancher/rancher #22851).")},
		{Rule: transform.Templated},
	}
}

// nodeRules are those about the nodes, and what runs them.
func nodeRules() []rule {
	return []rule{
		{Rule: rules.ControlPlanesAtOnce, Check: (*migration).controlPlanesAtOnce},
		transform.Row("metadata-hostname-conflict", transform.Error, rules.TheSwitch, (*migration).metadataConflict,
			"useInstanceMetadataHostname is true and a node has a hostname_override of its own: only one of the two can set its name.").Because(
			"One node would have two names: the one of the metadata service, and hostname_override.", transform.SourceRKE, "Remove one of the two.", "If the override equals the name of the metadata service."),
		transform.Row(ruleMetadataUnset, transform.Error, rules.TheSwitch, (*migration).metadataUnset,
			"The provider is external-aws, and neither useInstanceMetadataHostname nor a hostname_override names a node: it loses the name from EC2 and registers as a new Node. If you accept the rule, the switch does not set the former.").Because(
			"The node loses the name that it has from EC2, and registers as a new Node.", transform.SourceRKE, "Set useInstanceMetadataHostname: true, as the switch does.", "For machines that were registered with their own --node-name; then the switch does not set it."),
		transform.Row("metadata-hostname-unsupported", transform.Error, rules.TheSwitch, (*migration).metadataUnsupported,
			"useInstanceMetadataHostname is true on a release whose kubelet cannot read its name from the metadata: below 1.25.14, 1.26.9 or 1.27.6.").Because(
			"The kubelet of this release has no reader of the metadata, and does not start.", "rancher/rke-tools v0.1.95; "+transform.SourceRKE, "Upgrade to 1.25.14, 1.26.9 or 1.27.6 first.", "If the images of rke-tools were replaced by later ones."),
		transform.Row("node-address-missing", transform.Error, rules.TheSwitch, (*migration).nodeAddressMissing,
			"A node has neither internal_address nor a hostname_override of its own, and with external-aws RKE finds it by one of the two. A warning if its address is a private one, which RKE uses instead.").Because(
			"With external-aws RKE finds a node by its internal address or its override, and fails without.", "rancher/rke #3445", "Set internal_address.", "If the address is the internal one, where it is a warning."),
		transform.Row("rke-too-old", transform.Error, rules.TheSwitch, (*migration).rkeTooOld,
			"external-aws needs RKE 1.4.15 or 1.5.0, or Rancher 2.7.11 or 2.8.0 to 2.11: 2.12 removed RKE. A note unless --rke-version or --rancher-version names one.").Because(
			"An RKE that does not know external-aws refuses the file.", "rancher/rke releases v1.4.15 and v1.5.0; rancher/rancher v2.7.11 and v2.8.0", "Upgrade RKE or Rancher, and set --rke-version or --rancher-version.", "If the version that applies the file was checked."),
	}
}

// argumentRules are those about the arguments of components.
func argumentRules() []rule {
	return []rule{
		{Check: (*migration).configNotMounted, Rule: rules.ConfigNotMounted.WithGuards(rules.FlagEdits...).WithDoc(
			"leader-migration-config of kube-controller-manager names a file outside of /etc/kubernetes that no entry of extra_binds mounts, and the manager exits.")},
		transform.Row("extra-args-type", transform.Error, rules.EveryEdit, (*migration).extraArgsType,
			"A value in extra_args is not a string. Rancher's API rejects it; RKE itself accepts it, so it is a note in a cluster.yml.").Because(
			"Rancher's API takes only strings and refuses the object.", "rancher/rke types: ExtraArgs is a map of strings", "Quote the value; `rke-lm lint --fix` does so.", "In a cluster.yml, where RKE reads it.").Fixed((*migration).quoteExtraArgs),
		{Check: (*migration).unknownService, Fix: (*migration).spellServices, Rule: rules.UnknownConfigKey.WithDoc(
			"A service in a cluster.yml is written with an underscore (kube_controller), as in Rancher's templates; RKE itself ignores it.")},
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
