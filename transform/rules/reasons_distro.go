// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

// machineReasons are those of rules about what of the machine configuration of RKE2 reaches
// machines.
var machineReasons = []Reason{
	{"args-overwritten", "Lists are not appended: the later list is all that those machines get, and the arguments of the earlier one are gone.",
		planner, "Repeat the lost arguments in the entry, or move all of them to one place.", "If the arguments are meant to be dropped on those machines."},
	{"config-misindented", "Keys next to config instead of below it are unknown fields, which Rancher drops: the machines get none of them.",
		planner, "Indent them; `rke-lm lint --fix` does so.", "If the keys are meant to have no effect."},
	{"machine-files-refused", "Rancher's planner stops with an error, and no machine of the cluster gets any further change.",
		"rancher/rancher pkg/capr/planner: machineSelectorFiles and object-authorized-for-clusters", "Correct the entry, or the annotation of the object.", "If the object in Rancher's cluster was corrected since the file was written."},
	{"selector-invalid", "Rancher cannot evaluate the selector and refuses the whole cluster.", "kubernetes/apimachinery pkg/apis/meta/v1/helpers.go", "Use In or NotIn with values, Exists or DoesNotExist without.", "Never; Rancher refuses the cluster."},
	{"selector-unmatched", "The entry has no effect: what it sets, such as an external provider for control planes, reaches no machine.",
		planner, "Select by a label that Rancher gives machines: the role labels rke.cattle.io/NAME-role, or labels of a pool.", "If a pool with the label is added later."},
	{"selector-widened", "Rancher drops the unknown field. What is left is an empty selector, which matches every machine.",
		planner, "Write matchLabels or matchExpressions; `rke-lm lint --fix` does so.", "If the entry is meant for every machine."},
	{"ui-edit-fails", "The page in Rancher with which an administrator edits the cluster does not load.",
		"rancher/dashboard #9529, #9888, #11987", "Add an entry without a selector; `rke-lm lint --fix` does so.", "If no one edits the cluster in the UI, or Rancher is 2.10 or later."},
	{"unknown-config-key", "Rancher drops keys that the release does not have, so the value reaches no machine.",
		"rancher/kontainer-driver-metadata: server and agent arguments of each release", "Correct the spelling; `rke-lm lint --fix` does so where one key is near.", "If the key is for a later release."},
	{"value-dropped", "Rancher passes only strings, booleans and lists; the value reaches no machine.", planner, "Quote the number, or write a list.", "If the value is meant to have no effect."},
	{"value-erased", "The later value overwrites the earlier one and is dropped afterwards, so that the machines have neither.",
		planner, "Remove the empty value, or write the whole list.", "If the value is meant to be erased on those machines."},
	{"webhook-drops-args", "Each time the cluster is written, the webhook rewrites the list, and the API server loses the arguments at its next restart.",
		"rancher/webhook pkg/resources/provisioning.cattle.io/v1/cluster, before Rancher 2.11.7, 2.12.3 and 2.13.0", "Give the argument a value, or set the flag in an entry of machineSelectorConfig.",
		"If Rancher is 2.11.7, 2.12.3, 2.13.0 or later."},
	{"wrong-arg-spelling", "The component does not know the key of RKE2 as a flag, and exits.", "rancher/rke2 docs: server configuration", "Write the component's own flag; `rke-lm lint --fix` does so.", "Never; the component does not start."},
}

// engineReasons are those of rules about RKE1.
var engineReasons = []Reason{
	{"aws-block-resets", "RKE chooses the provider by the block, and overwrites external-aws with aws.", rkeDefaults, "Remove awsCloudProvider; its settings go to the manager with --cloud-config.", "Never with external-aws."},
	{"extra-args-type", "Rancher's API takes only strings and refuses the object.", "rancher/rke types: ExtraArgs is a map of strings", "Quote the value; `rke-lm lint --fix` does so.", "In a cluster.yml, where RKE reads it."},
	{"metadata-hostname-conflict", "One node would have two names: the one of the metadata service, and hostname_override.", rkeDefaults, "Remove one of the two.", "If the override equals the name of the metadata service."},
	{"metadata-hostname-unset", "The node loses the name that it has from EC2, and registers as a new Node.", rkeDefaults, "Set useInstanceMetadataHostname: true, as the switch does.", "For machines that were registered with their own --node-name; then the switch does not set it."},
	{"metadata-hostname-unsupported", "The kubelet of this release has no reader of the metadata, and does not start.", "rancher/rke-tools v0.1.95; " + rkeDefaults, "Upgrade to 1.25.14, 1.26.9 or 1.27.6 first.", "If the images of rke-tools were replaced by later ones."},
	{"node-address-missing", "With external-aws RKE finds a node by its internal address or its override, and fails without.", "rancher/rke #3445", "Set internal_address.", "If the address is the internal one, where it is a warning."},
	{"rke-template", "Rancher's API sets the configuration of such a cluster from the template and its answers.", "rancher/rancher pkg/api/norman/store/cluster/cluster_store.go: loadDataFromTemplate", "Make the change in a revision of the template.", "If the change is made in the template as well."},
	{"rke-too-old", "An RKE that does not know external-aws refuses the file.", "rancher/rke releases v1.4.15 and v1.5.0; rancher/rancher v2.7.11 and v2.8.0", "Upgrade RKE or Rancher, and set --rke-version or --rancher-version.", "If the version that applies the file was checked."},
}

// manifestReasons are those of rules about manifests of the managers.
var manifestReasons = []Reason{
	{"backup-in-manifest-folder", "The kubelet starts every file in the folder, so that the copy runs a second manager with the old flags.", "kubernetes/kubernetes pkg/kubelet/config/file_linux.go", "Move the copy to another folder.", "If the folder is not the one of a kubelet."},
	{"certificates-in-image", "Everyone who can pull the image has the keys of the control plane, and they expire with the image.", "kubernetes docs: PKI certificates", "Mount them from a Secret.", "If the image is private and its keys are replaced with it."},
	{"circular-dependency", "Only a running kube-controller-manager creates pods of a Deployment: once all are gone, none returns.", "kubernetes/kubernetes pkg/controller/replicaset", "Keep a static pod on one node, or store its manifest elsewhere.", "If there is a written way to start one manually."},
	{"deployment-deadlock", "The rollout stops the manager that would create the new pods, and waits for pods that no one creates.", "kubernetes/kubernetes pkg/controller/deployment", "Use two replicas or more, RollingUpdate, and maxUnavailable below the number of replicas.", "Never while it is the only manager."},
	{"host-path-in-deployment", "A pod on a node that lacks the files, or has other ones, does not start or uses wrong keys.", "kubernetes docs: hostPath", "Use a ConfigMap or a Secret, or select nodes that have the files.", "If all selected nodes have the same files."},
	{"host-pinned", "All replicas fail with one host.", "kubernetes docs: assigning pods to nodes", "Select control planes by their role.", "If there is one control plane."},
	{"one-active-replica", "One replica holds the lease and does all of the work.", "kubernetes docs: leases", "Nothing.", "Always; it informs."},
}
