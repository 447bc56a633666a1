// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// rule is a row of the table.
type rule = transform.Checked[*migration]

// ruleTable is the one table of RKE2's static rules, by their names.
var ruleTable = sync.OnceValue(func() []rule {
	return transform.Table(sharedRules(), clusterRules(), chartRules(), machineConfigRules(), configRules())
})

// sharedRules are those that check the same in every format.
func sharedRules() []rule {
	return rules.Of[*migration](
		rules.CCMUnschedulable, rules.CSIGateStale, rules.CloudControllersOff, rules.FlagOnExternalGate,
		rules.FlagUnknown, rules.LeaderElectionOff, rules.LeaseGrantMissing, rules.LeaseTimingsUnsafe,
		rules.FlagLeftOnKCM.WithGuards(rules.FlagLeaves...),
		rules.ConfigWithoutFlag.WithDoc(
			"A manager has leader-migration-config without enable-leader-migration, and silently ignores the configuration."),
		rules.CCMMinorSkew.WithGuards(rules.ImageMoves...).WithDoc(
			"The minor of the cloud-controller-manager's image is not the cluster's. From 1.28 on the image also needs a LeaderMigrationConfiguration of its own, or services and routes run in both managers."),
	)
}

// clusterRules are those about what the stages change and what they rest on.
func clusterRules() []rule {
	return []rule{
		transform.Row("apiserver-flag-removed", transform.Error, rules.NewRelease, (*migration).apiServerFlagRemoved,
			"kube-apiserver-arg has cloud-provider or cloud-config, flags that Kubernetes 1.33 removed from kube-apiserver. switch-to-external removes them.").Because(
			"kube-apiserver 1.33 does not know the flag and exits, so the control plane does not start after the upgrade.", "kubernetes/kubernetes CHANGELOG/CHANGELOG-1.33.md: --cloud-provider of kube-apiserver is removed", "Remove cloud-provider from kube-apiserver-arg before the upgrade.", "Never on a cluster that goes to 1.33; only if the file describes a cluster that stays below it."),
		{Rule: rules.ChangedByOverlay},
		{Check: (*migration).cloudConfigLost, Rule: rules.CloudConfigLost.WithDoc(
			"cloud-provider-config is set: an external provider ignores it, so its content must reach the cloud-controller-manager as --cloud-config.")},
		{Check: (*migration).configNotMounted, Rule: rules.ConfigNotMounted.WithDoc(
			"A manager's leader-migration-config names a file that nothing creates: machineSelectorFiles for kube-controller-manager, extraVolumes and extraVolumeMounts for the chart. The manager exits.")},
		{Rule: rules.ControlPlanesAtOnce, Check: (*migration).controlPlanesAtOnce},
		{Rule: rules.DuplicateCluster},
		{Rule: transform.Encrypted},
		{Rule: rules.InTreeGone, Check: (*migration).inTreeGone},
		transform.Row("node-name-shared", transform.Error, rules.TheSwitch, (*migration).nodeNameShared,
			"The user data of a machine pool has a literal hostname or fqdn: with external all its machines register under one name. Checked with --end-state external, where the Amazonec2Config is in the same folder or stream, or can be read from a live Rancher.").Because(
			"The kubelets of all machines of the pool register the same Node, and RKE2 rejects all but the first.", transform.SourceNodeNames, "Remove hostname and fqdn from the user data of the pool, or choose aws-override.", "If the pool has one machine, and never another one next to it."),
		{Check: (*migration).nodeRename, Rule: rules.NodeRename.WithDoc(
			"With the provider aws RKE2 takes the names of nodes from the instance metadata, with external the kubelet uses the host name. A node whose name changes registers as a new Node. An error if external is chosen for machine pools, which have other host names, or where host names are known to differ. For Windows machines up to 1.29.10, 1.30.6 and 1.31.2 an error with any end state. Elsewhere an error until an end state is chosen, or --host-names shows that all names are equal. Also an error if workers are external and control planes are not. Before the switch it is a warning. A note shows which end state the stages take, and why.")},
		{Check: (*migration).notMigratable, Rule: rules.NotMigratable.WithDoc(
			"Refused with exit code 4 by every verb: rkeConfig is null, a K3s version, the cluster local, no cloud provider or another one than aws, or Kubernetes below 1.22. Windows machines are a warning.")},
		{Rule: rules.ProviderMixed, Check: (*migration).providerMixed},
		{Check: (*migration).providerRemoved, Rule: rules.ProviderRemoved.WithDoc(
			"A cluster with signs of a migration to the external provider has no cloud-provider-name: RKE2 then starts its own stub, which gives nodes the provider ID rke2://. A warning if the name is empty and there is no sign of a migration: Rancher's UI writes this if a provider was removed, and if there was none.")},
		transform.Row("object-not-given", transform.Note, rules.FlagEdits, (*migration).objectNotGiven,
			"machineSelectorFiles takes the configuration of kube-controller-manager from an object of Rancher's cluster that was not given, so it is not checked. An object joins its cluster where both are in one folder or stream.").Because(
			"The configuration is in an object of Rancher's cluster, so its content is not checked.", "rancher/rancher: machineSelectorFiles", "Plan the object together with the cluster, from one folder or stream.", "If it was checked with `rke-lm leader-migration-config --lint`."),
		transform.Row("psact-dropped", transform.Error, rules.TheSwitch, (*migration).podSecurityDropped,
			"An entry for control planes replaces kube-apiserver-arg, and with it the pod security admission configuration that Rancher's webhook adds to the global list.").Because(
			"The entry replaces the list to which Rancher's webhook adds the pod security configuration: policies are then off.", "rancher/webhook pkg/resources/provisioning.cattle.io/v1/cluster, v0.3 to v0.6", "Move the arguments to machineGlobalConfig, or repeat admission-control-config-file in the entry.", "If the entry repeats admission-control-config-file, or the policies are enforced in another way."),
		{Rule: rules.ServiceOverrideNames, Check: (*migration).serviceOverrideNames},
		transform.Row("snapshot-missing", transform.Warning, rules.TheSwitch, (*migration).snapshotMissing,
			"The cluster has no configuration for etcd snapshots, and some mistakes can only be reverted with a snapshot.").Because(
			"Some mistakes can only be reverted by a restore of etcd, and there is no snapshot to restore.", "rancher docs: backing up a cluster", "Configure etcd snapshots, and take one before the switch.", "If snapshots are taken in another way."),
		{Rule: rules.StorageClassInTree, Check: (*migration).storageClassInTree},
		transform.Row("stub-ccm-enabled", transform.Error, slices.Concat(rules.TheChart, rules.NewRelease), (*migration).stubEnabled,
			"The provider is external without disable-cloud-controller: true, which prevents RKE2's stub cloud controller from giving nodes the provider ID rke2://; it must not run together with the cloud-controller-manager. A warning up to RKE2 1.35, where any cloud-provider-name also disables the stub.").Because(
			"The stub and the AWS manager both initialize nodes; the one that comes first sets the provider ID, which cannot be changed.", "rancher/rke2 pkg/rke2/rke2_linux.go: up to 1.35 any provider name disables it, from 1.36 on only the key does", "Set disable-cloud-controller: true for control planes.", "Up to RKE2 1.35, where it is a warning."),
		{Rule: transform.Templated},
	}
}

// chartRules are those about the cloud-controller-manager.
func chartRules() []rule {
	return []rule{
		transform.Row("address-flapping", transform.Warning, rules.TheChart, (*migration).addressFlapping,
			"Below Kubernetes 1.25 the cloud-controller-manager and the in-tree kubelets both write the addresses of nodes until the kubelets are external.").Because(
			"Both write the addresses of nodes in turn, so that they change again and again where the two see different ones.", "kubernetes/kubernetes #109793", "Keep the time between the chart and the switch short.", "Always, if the addresses of a node do not matter for some minutes."),
		{Check: (*migration).ccmArgsUnsafe, Rule: rules.CCMArgsUnsafe.Rule.WithDoc(
			"With its arguments the cloud-controller-manager exits when it acquires the lease: routes are on without --cluster-cidr, --cloud-provider=aws is missing from the list, or service account credentials are used without permission to get service accounts.")},
		{Rule: rules.CCMFlagMissing.Rule, Check: (*migration).ccmFlagMissing},
		{Rule: rules.CCMNotInFile.WithGuards(rules.ChartRuns...), Check: (*migration).ccmNotInFile},
		transform.Row("chart-field-ignored", transform.Warning, rules.TheChart, (*migration).chartFieldIgnored,
			"The HelmChart of the cloud-controller-manager, or its HelmChartConfig, has values in a field that the helm-controller of this RKE2 release does not have: valuesSecrets before 1.30.12, 1.31.8 and 1.32.4, values before 1.33.11, 1.34.7 and 1.35.4.").Because(
			"The helm-controller of this release drops the field, and the chart is installed without those values.", "k3s-io/helm-controller pkg/apis/helm.cattle.io/v1/types.go", "Move the values to valuesContent.", "If the values are only for a later release of RKE2."),
		transform.Row("chart-not-checked", transform.Note, rules.TheChart, (*migration).chartNotChecked,
			"Something that determines what the chart of the cloud-controller-manager installs is not in the file: a Secret of valuesSecrets, templates in chartContent other than the published chart's, an archive that cannot be read, a chart of another name. The rules that depend on it are not checked.").Because(
			"What the manager is started with is not in the file, so arguments, image and tolerations are not checked.", "the file itself", "Check the values in the place that the finding names.", "When they were checked."),
		{Check: (*migration).chartUnpinned, Rule: rules.ChartUnpinned.Rule.WithDoc(
			"The HelmChart of the cloud-controller-manager names no exact chart version or no image tag, so that a new release changes the cluster.")},
		transform.Row("helm-reinstall", transform.Warning, rules.TheChart, (*migration).helmReinstall,
			"The HelmChart of the cloud-controller-manager lacks failurePolicy: abort, so a failed upgrade uninstalls the chart before it installs it again.").Because(
			"After a failed upgrade helm-controller uninstalls the release: the manager and its permissions are gone for that time.", "k3s-io/helm-controller: failurePolicy", "Set failurePolicy: abort.", "If an outage of the manager during an upgrade is acceptable."),
		{Rule: transform.Rule{
			ID: "manifest-overwritten", Severity: transform.Error, Guards: rules.OfManifest,
			Doc: "Two documents of additionalManifest are the same object, so that the later one overwrites the earlier in the cluster: also two HelmCharts of the cloud-controller-manager, and a HelmChartConfig with the same name as chartValues.",
		}.Because("Of two documents for one object only the last one reaches the cluster; the other one is lost without an error.", "rancher/rancher: additionalManifest is one file, applied in order", "Merge the two documents, or remove one.", ""), Check: (*migration).manifestOverwritten},
	}
}

// machineConfigRules are those about what of the machine configuration reaches machines.
func machineConfigRules() []rule {
	return []rule{
		transform.Row("args-overwritten", transform.Warning, rules.FlagEdits, (*migration).argsOverwritten,
			"An entry of machineSelectorConfig replaces a list of arguments that an earlier location set for the same machines, and arguments are lost. An error where it concerns kube-controller-manager-arg, or another list that the stages edit.").Because(
			"Lists are not appended: the later list is all that those machines get, and the arguments of the earlier one are gone.", transform.SourcePlanner, "Repeat the lost arguments in the entry, or move all of them to one place.", "If the arguments are meant to be dropped on those machines."),
		transform.Row("config-misindented", transform.Error, rules.FlagEdits, (*migration).configMisindented,
			"Arguments are at the level of config or machineGlobalConfig instead of below it; Rancher silently drops them.").Because(
			"Keys next to config instead of below it are unknown fields, which Rancher drops: the machines get none of them.", transform.SourcePlanner, "Indent them; `rke-lm lint --fix` does so.", "If the keys are meant to have no effect.").Fixed((*migration).indentConfig),
		transform.Row("machine-files-refused", transform.Error, rules.FlagEdits, (*migration).filesRefused,
			"Rancher's planner stops at an entry of machineSelectorFiles, and no machine gets a new configuration. The selector is invalid, or one source names both a Secret and a ConfigMap. Or the object with the configuration of kube-controller-manager does not authorize the cluster or has another hash.").Because(
			"Rancher's planner stops with an error, and no machine of the cluster gets any further change.", "rancher/rancher pkg/capr/planner: machineSelectorFiles and object-authorized-for-clusters", "Correct the entry, or the annotation of the object.", "If the object in Rancher's cluster was corrected since the file was written."),
		transform.Row("provider-in-selector", transform.Note, rules.TheSwitch, (*migration).providerInSelector,
			"An entry of machineSelectorConfig overrides cloud-provider-name of machineGlobalConfig; the switch edits the entry.").Because(
			"The value that machines get is not the one in machineGlobalConfig: who edits that one changes nothing.", transform.SourcePlanner, "Nothing: the switch edits the entry that takes effect.", "Always; it informs."),
		transform.Row[*migration](ruleSelectorInvalid, transform.Error, nil, nil,
			"A machine selector has an operator or values that Kubernetes refuses, and Rancher then refuses the whole cluster.").Because(
			"Rancher cannot evaluate the selector and refuses the whole cluster.", "kubernetes/apimachinery pkg/apis/meta/v1/helpers.go", "Use In or NotIn with values, Exists or DoesNotExist without.", "Never; Rancher refuses the cluster."),
		transform.Row("selector-unmatched", transform.Warning, rules.FlagEdits, (*migration).selectorUnmatched,
			"An entry of machineSelectorConfig or machineSelectorFiles has a selector that matches the machines of no pool, so that it reaches none.").Because(
			"The entry has no effect: what it sets, such as an external provider for control planes, reaches no machine.", transform.SourcePlanner, "Select by a label that Rancher gives machines: the role labels rke.cattle.io/NAME-role, or labels of a pool.", "If a pool with the label is added later."),
		transform.Row("selector-widened", transform.Error, rules.FlagEdits, (*migration).selectorWidened,
			"A field of a machine selector is misspelled: Rancher drops it, and the entry matches more machines than intended.").Because(
			"Rancher drops the unknown field. What is left is an empty selector, which matches every machine.", transform.SourcePlanner, "Write matchLabels or matchExpressions; `rke-lm lint --fix` does so.", "If the entry is meant for every machine.").Fixed((*migration).spellSelectors),
		transform.Row("ui-edit-fails", transform.Warning, rules.FlagEdits, (*migration).uiEditFails,
			"machineSelectorConfig is null or empty, or all its entries have a machineLabelSelector: the page of Rancher's UI that edits the cluster fails to load (Rancher 2.7 to 2.9; rancher/dashboard #9529, #9888, #11987).").Because(
			"The page in Rancher with which an administrator edits the cluster does not load.", "rancher/dashboard #9529, #9888, #11987", "Add an entry without a selector; `rke-lm lint --fix` does so.", "If no one edits the cluster in the UI, or Rancher is 2.10 or later.").Fixed((*migration).addPlainEntry),
		{Check: (*migration).unknownConfigKey, Fix: (*migration).spellKeys, Rule: rules.UnknownConfigKey.WithDoc(
			"Rancher does not pass a key of the machine configuration to this RKE2 release; it may be misspelled. A note for a release that Rancher does not list, and for a key that only newer metadata of Rancher lists.")},
		transform.Row("value-dropped", transform.Error, rules.FlagEdits, (*migration).valueDropped,
			"A value is a number or a mapping; Rancher keeps only strings, booleans and lists.").Because(
			"Rancher passes only strings, booleans and lists; the value reaches no machine.", transform.SourcePlanner, "Quote the number, or write a list.", "If the value is meant to have no effect."),
		transform.Row("value-erased", transform.Warning, rules.FlagEdits, (*migration).valueErased,
			"A later null, number, mapping, [] or empty string erases a value that an earlier location set for the same machines. An error where it concerns kube-controller-manager-arg, or another list that the stages edit.").Because(
			"The later value overwrites the earlier one and is dropped afterwards, so that the machines have neither.", transform.SourcePlanner, "Remove the empty value, or write the whole list.", "If the value is meant to be erased on those machines."),
		transform.Row("webhook-drops-args", transform.Warning, rules.FlagEdits, (*migration).webhookDropsArgs,
			"The cluster has a template for pod security admission. kube-apiserver-arg of machineGlobalConfig has an argument without a value, or a flag several times whose values all count. The webhook of Rancher before 2.11.7, 2.12.3 and 2.13.0 drops the argument, and all but the last one of the flag, with every write.").Because(
			"Each time the cluster is written, the webhook rewrites the list, and the API server loses the arguments at its next restart.", "rancher/webhook pkg/resources/provisioning.cattle.io/v1/cluster, before Rancher 2.11.7, 2.12.3 and 2.13.0", "Give the argument a value, or set the flag in an entry of machineSelectorConfig.", "If Rancher is 2.11.7, 2.12.3, 2.13.0 or later."),
		transform.Row("wrong-arg-spelling", transform.Error, rules.FlagEdits, (*migration).wrongArgSpelling,
			"A list of component arguments holds a key of RKE2, such as cloud-provider-name, instead of the component's flag, such as cloud-provider. An unknown flag stops the component.").Because(
			"The component does not know the key of RKE2 as a flag, and exits.", "rancher/rke2 docs: server configuration", "Write the component's own flag; `rke-lm lint --fix` does so.", "Never; the component does not start.").Fixed((*migration).spellArgs),
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
