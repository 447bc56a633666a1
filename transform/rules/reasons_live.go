// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

// helmValues is where helm decides which values a release gets.
const helmValues = "helm/helm pkg/action/upgrade.go (reuseValues)"

// liveReasons are those of rules about live clusters.
var liveReasons = []Reason{
	{"cluster-deleting", "What is changed is deleted.", "kubernetes docs: finalizers", "Use another cluster.", ""},
	{"cluster-not-settled", "A stage on top of an unfinished change restarts machines twice, and a failed change hides which of the two failed.",
		"rancher/rancher pkg/capr/planner/planner.go: status.appliedSpec", "Wait until the change is applied, or repair it.", "If the finding is about a machine that is known to be lost."},
	{"cluster-paused", "Rancher stores the change and applies it to no machine.", "rancher/rancher pkg/capr/planner: spec.paused", "Ask who paused it, and unpause it.", ""},
	{"cordon-left", "No pod is scheduled to the node any more.", "rke-lm annotates what it cordons", "Run the stage uncordon-control-plane.", "If the node is cordoned for another reason by now."},
	{"daemonset-empty", "No manager runs on some control planes, or on none, and the rollout of a DaemonSet without pods also succeeds.", "kubernetes/kubectl pkg/polymorphichelpers/rollout_status.go", "Correct the selector and the tolerations of the DaemonSet.", "If a control plane is known to be down."},
	{"daemonset-restarting", "The manager exits whenever it leads, so that the cloud controllers run only for seconds.", awsProvider, "Read the log of the container that ended; missing permissions and --cluster-cidr are the usual causes.", "If the restart was made on purpose."},
	{"ecr-credentials", "From 1.27 on the kubelet has no credentials for ECR of its own, and new pods stay in ImagePullBackOff.", removals, "Install ecr-credential-provider on the nodes before the upgrade.", "If images come through a mirror or with pull secrets."},
	{"etcd-snapshot-impossible", "Rancher would record a snapshot that it cannot take.", "rancher/rancher pkg/controllers/management/etcdbackup", "Set services.etcd.backupConfig, or leave --etcd-snapshot out.", ""},
	{"in-tree-volumes", "After the switch no component attaches in-tree EBS volumes, except the CSI driver on the node.", "kubernetes docs: CSI migration", "Install the AWS EBS CSI driver on every node.", "If the volumes are not used any more."},
	{"leader-missing", "No cloud-controller-manager leads: nodes are not initialized, and after the switch no load balancer is made.", migration, "Read the log and the Events of its pods.", "If the manager is stopped on purpose."},
	{"cloud-controllers-nowhere", "No manager runs the cloud controllers: load balancers, routes and the removal of nodes do not run.", migration, "Check the managers' logs for the lease, and the permission on it.", "If both managers are restarting, and another observation shows a leader."},
	{"lease-rbac-missing", "The manager without permission never acquires the lease, and its controllers do not start.", "kubernetes/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy", "Apply the Role and RoleBinding of grant-migration-lease.", "If the identity that the rule asks for is not the one that the manager has."},
	{"lease-wrong-holder", "The stage did not do what it promised, or the holder runs nothing.", migration, "Check the arguments of the manager that holds the lease.", "If both managers are able to run the controllers at this stage."},
	{"load-balancer-changed", "Clients use the host name of the old load balancer.", awsProvider, "Update what refers to the old name, or restore the Service.", "If the Service was made again on purpose."},
	{"load-balancer-pending", "The Service is not reachable from outside.", awsProvider, "Do what the finding names in AWS.", "If the migration is not the cause, and the Service had no load balancer before."},
	{"load-balancer-stale", "A load balancer that stays costs money, and its Service and its namespace cannot be deleted. One whose changes fail sends requests to nodes that are gone.", awsProvider, "Do what the finding names in AWS; the cloud controllers try again every 5 minutes.", "If the migration is not the cause, and the same was the case before."},
	{"managed-elsewhere", "The program that made the object writes it again and reverts the stage, maybe in the middle of it.", "annotations and managedFields of the object", "Change the source that the program uses.", "If that program is stopped, or ignores the fields that the stages change."},
	{"node-name-hidden", "With external the kubelet registers a new Node under the node-name of the machine.", nameSource, "Choose aws-override, or remove node-name on the machine and make the host name equal to the name of the Node.", "If the Node may register again under the other name."},
	{"node-new", "A Node that is not in the snapshot can be an old machine under a new name.", nameSource, "Compare its instance ID with the Nodes of the snapshot.", "If the machine was added on purpose."},
	{"node-not-ready", "A control plane that is down makes the next restart an outage.", "kubernetes docs: node status", "Repair the node first.", "If the node is known to be lost and etcd has its quorum without it."},
	{"node-renamed", "Pods, volumes and labels stay with the old Node.", nameSource, "Undo the switch before more machines restart, and set the names.", "If the machine was replaced on purpose."},
	{"node-uninitialized", "The taint keeps pods off the node until a cloud-controller-manager has initialized it.", "kubernetes docs: cloud controller manager", "Check whether the manager finds the instance: name, tags, permissions.", "If the node is being removed."},
	{"pause-not-obeyed", "The person who set the annotation expects that nothing changes, and Rancher would change machines all the same.", "rancher/rancher pkg/capr/planner", "Ask who paused it, and remove the annotation, or pause it in the way that Rancher obeys.", "If that person agrees."},
	{"provider-id-duplicate", "One of the two Nodes is a copy: the removal of its instance removes both.", awsProvider, "Delete the Node that has no kubelet. If it is an etcd member, replace its machine instead.", "If one of the two is being removed."},
	{"provider-id-foreign", "The manager cannot find the instance; it neither updates nor removes the Node. The ID cannot be changed.", "k3s-io/k3s pkg/cloudprovider; " + awsProvider, "Replace the machine. If it is no etcd member, you can also delete the Node and let it register again.", "For machines that are not in AWS."},
	{"provider-id-malformed", "The manager cannot read the ID, and treats the Node as one of another provider.", awsProvider, "Replace the machine. If it is no etcd member, you can also delete the Node and let it register again.", "For machines that are not in AWS."},
	{"provider-id-missing", "Without an ID the manager finds the instance only by the private DNS name, and later releases do not.", awsProvider, "Run the stage set-provider-ids, or add the taint for uninitialized nodes once a cloud-controller-manager runs.", "For machines that are not in AWS."},
	{"provider-id-zone-mismatch", "Volumes of the zone in the label are not attached in the zone of the instance.", awsProvider, "Correct the label, or replace the machine.", "If the label is set on purpose."},
	{"release-values-not-in-file", "The file is what the operator wants, and a file that is older than the release removes what was set since.", helmValues, "Add the values to the file.", ""},
	{"release-values-replaced", "helm upgrade with a values file replaces all values of a release: an image mirror, a selector or resources disappear silently, and the pods might not start.", helmValues, "Write the values of the release to a file, and name it with --ccm-values.", "If no cluster needs the values any more."},
	{"reverted", "Another program or a person undid the stage; the next one would start from a wrong state.", "the object's managedFields", "Find out who changed it, and apply the stage again.", "If it was undone on purpose."},
	{"stage-not-reached", "The managers still run with the old arguments, or have not acquired the lease.", migration, "Wait for the rollout; then check the arguments of the managers.", "If the managers are known to be as the stage wants, and the observation is old."},
	{"cloud-controllers-twice", "Both managers create, change and delete the same load balancers and routes.", migration, "Undo the last stage, and check the flags of both managers.", "Never while both run."},
}
