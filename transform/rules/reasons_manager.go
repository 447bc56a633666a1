// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

// chartReasons are those of rules about the cloud-controller-manager.
var chartReasons = []Reason{
	{"address-flapping", "Both write the addresses of nodes in turn, so that they change again and again where the two see different ones.",
		"kubernetes/kubernetes #109793", "Keep the time between the chart and the switch short.", "Always, if the addresses of a node do not matter for some minutes."},
	{"ccm-args-unsafe", "The manager is healthy as long as it waits, and exits at the moment it acquires the lease, which is the switch.",
		awsProvider, "Set --cloud-provider=aws and --configure-cloud-routes=false, or --cluster-cidr where the VPC has pod routes.",
		"If the log of a manager that holds its lease shows that it runs."},
	{"ccm-flag-missing", "Two managers run the cloud controllers now: both create, change and delete load balancers and routes.",
		migration, "Add --enable-leader-migration to the cloud-controller-manager, or remove it until its stage.",
		"With --no-leader-migration, where the switch follows at once."},
	{"ccm-minor-skew", "From 1.28 on the manager names its controllers differently: with the default configuration services and routes run in both managers.",
		awsProvider + "; " + configTypes, "Use the image of the cluster's minor, or add --leader-migration-config generate.",
		"If each manager has a configuration with its own names."},
	{"ccm-not-in-file", "The cluster is external and the file shows no manager. If there is none, no new node is initialized and no load balancer is made.",
		awsProvider, "Check with `rke-lm verify` whether one runs; apply install-ccm with --stage if not.", "If the manager is installed from another place, and `rke-lm verify` finds it."},
	{"ccm-unschedulable", "The DaemonSet has no pod on the control planes, and `kubectl rollout status` still reports success.",
		"rancher/rancher pkg/capr/planner: taints without a value on control planes and etcd", "Use the selector and tolerations that the stage writes: operator Exists.",
		"If other machines than the file shows carry the manager."},
	{"chart-field-ignored", "The helm-controller of this release drops the field, and the chart is installed without those values.",
		"k3s-io/helm-controller pkg/apis/helm.cattle.io/v1/types.go", "Move the values to valuesContent.", "If the values are only for a later release of RKE2."},
	{"chart-not-judged", "What the manager is started with is not in the file, so arguments, image and tolerations are not checked.",
		"the file itself", "Check the values in the place that the finding names.", "When they were checked."},
	{"chart-unpinned", "helm-controller installs the newest chart at each change, and with it another image and other defaults.",
		"k3s-io/helm-controller; " + awsProvider, "Set an exact version and image.tag.", "If the repository of charts has one version only."},
	{"helm-reinstall", "After a failed upgrade helm-controller uninstalls the release: the manager and its permissions are gone for that time.",
		"k3s-io/helm-controller: failurePolicy", "Set failurePolicy: abort.", "If an outage of the manager during an upgrade is acceptable."},
	{"manifest-overwritten", "Of two documents for one object only the last one reaches the cluster; the other one is lost without an error.",
		"rancher/rancher: additionalManifest is one file, applied in order", "Merge the two documents, or remove one.", ""},
}

// configurationReasons are those of rules about a LeaderMigrationConfiguration.
var configurationReasons = []Reason{
	{"cloud-node-listed", "cloud-node initializes nodes and is never migrated: while the other manager holds the lease, new nodes stay uninitialized.",
		configTypes, "Remove cloud-node from the list.", "Never during a migration."},
	{"component-mirrored", "The manager holds the lease and starts none of the controllers, so that they run nowhere.",
		configTypes, "Name this manager, or \"*\", as the component.", "Never during a migration."},
	{"controller-not-listed", "A controller that is not listed runs under the manager's own lease, at once and in both managers.",
		configTypes, "List service, route and cloud-node-lifecycle under the names of this manager's version.", "If the other manager does not have the controller."},
	{"duplicate-controller", "The last entry wins, so that the manager of the first one does not run the controller as intended.",
		configTypes, "Remove one of the two entries.", "If both entries name the same component."},
	{"empty-leader-list", "Nothing is under the migration lease, so both managers run all controllers.",
		configTypes, "List the controllers, or remove the file: the managers have a default configuration.", "Never while two managers run."},
	{"lease-name-differs", "With two leases both managers are the only candidate of their own one, and both run the controllers.",
		configTypes, "Set the same leaderName on both sides.", "If the other side is not in the file and has the same name."},
	{"nodeipam-without-ccm-support", "The AWS manager has no nodeipam controller, so new nodes get no pod CIDR.",
		awsProvider, "Remove nodeipam from the list.", "If pod CIDRs are not assigned by Kubernetes, as with most network plugins of Rancher."},
	{"object-not-given", "The configuration is in an object of Rancher's cluster, so its content is not checked.",
		"rancher/rancher: machineSelectorFiles", "Plan the object together with the cluster, from one folder or stream.", "If it was checked with `rke-lm leader-migration-config --lint`."},
	{"resource-lock-extra", "Managers from 1.36 on refuse unknown fields of v1, and exit.", configTypes, "Remove resourceLock.", "Below 1.36 on both sides, also after the next upgrade."},
	{"resource-lock-missing", "The field is required in v1alpha1 and v1beta1, and the manager exits without it.", configTypes, "Add resourceLock: leases, or use v1.", "Never; the manager does not start."},
	{"unknown-api-version", "The manager cannot decode the file, and exits.", configTypes, "Use a version that the manager's release has.", "If the manager is upgraded in the same change."},
	{"unknown-component", "An entry for a component that does not exist starts the controller nowhere.", configTypes, "Use kube-controller-manager, cloud-controller-manager or \"*\".", "Never during a migration."},
	{"unknown-controller", "The name matches no controller, so that the real one runs in both managers. The names changed in 1.28.",
		configTypes, "Use the names of the manager's own version; `rke-lm leader-migration-config` prints them.", "If the controller of that name belongs to a manager of your own."},
	{"unknown-key", "Managers before 1.36 ignore the key, so that what it was meant to set is not set; later ones exit.", configTypes, "Correct or remove the key.", "Below 1.36, if the key is a note for people."},
	{"wildcard-unquoted", "An unquoted * is an alias of YAML: the file cannot be read, and the manager exits.", "yaml.org, 1.2.2, section 7.1", "Quote it: \"*\".", "Never; the manager does not start."},
}
