// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

type rule = transform.Checked[*evaluation]

// always are all stages; the others are those after which something has to hold.
var (
	always      = stages.Names()
	lockable    = stages.Where(func(c stages.Check) bool { return c.Granted && c.Lease == stages.Anyone })
	flagOn      = stages.Where(func(c stages.Check) bool { return c.Lease != stages.Anyone })
	underLease  = stages.Where(func(c stages.Check) bool { return c.Lease.Needed() })
	managerRuns = stages.Where(func(c stages.Check) bool { return c.Manager })
	externally  = stages.Where(func(c stages.Check) bool { return c.External })
	released    = stages.Where(func(c stages.Check) bool { return c.Released })
	uncordoned  = stages.Where(func(c stages.Check) bool { return !c.Cordoned })
)

// Rules are the rules of live clusters, for the documentation.
func Rules() []transform.Rule { return transform.RulesOf(liveRules()) }

// liveRules is the one table of them.
func liveRules() []rule {
	return []rule{
		{Rule: transform.Rule{ID: rules.CCMArgsUnsafe.ID, Severity: transform.Error, Guards: managerRuns,
			Doc: "With its arguments the cloud-controller-manager exits when it acquires the lease: routes are on without --cluster-cidr.", Reason: rules.CCMArgsUnsafe.Reason}, Check: (*evaluation).ccmArgsUnsafe, Lacks: anyArguments},
		{Rule: transform.Rule{ID: "ccm-removed", Severity: transform.Error, Guards: managerRuns,
			Doc: "kube-controller-manager is external, and no pod of the cloud-controller-manager exists: no manager runs the cloud controllers. Also without --stage.", Reason: rules.CCMRemoved}, Check: (*evaluation).ccmRemoved, Lacks: seen(observed.Pods, observed.Leases)},
		{Rule: transform.Rule{ID: "cluster-not-settled", Severity: transform.Error, Guards: always,
			Doc: "On Rancher's own cluster: Rancher or a machine has not applied the last change of a cluster.", Reason: rules.NotSettled}, Check: (*evaluation).clusterNotSettled, Lacks: ranchers},
		{Rule: transform.Rule{ID: "cordon-left", Severity: transform.Error, Guards: uncordoned,
			Doc: "A node that rke-lm cordoned is still cordoned."}.Because(
			"No pod is scheduled to the node any more.", "rke-lm annotates what it cordons", "Run the stage uncordon-control-plane.", "If the node is cordoned for another reason by now."), Check: (*evaluation).cordonLeft, Lacks: seen(observed.Nodes), Needed: ofStages(released)},
		{Rule: transform.Rule{ID: "daemonset-empty", Severity: transform.Error, Guards: managerRuns,
			Doc: "The DaemonSet of the cloud-controller-manager has no desired pods, or fewer or more than there are control planes, or not all are ready. `kubectl rollout status` succeeds for a DaemonSet without pods."}.Because(
			"No manager runs on some control planes, or on none, and the rollout of a DaemonSet without pods also succeeds.", "kubernetes/kubectl pkg/polymorphichelpers/rollout_status.go", "Correct the selector and the tolerations of the DaemonSet.", "If a control plane is known to be down."), Check: (*evaluation).daemonSetEmpty, Lacks: anyManager, Needed: ofStages(managerRuns)},
		{Rule: transform.Rule{ID: "daemonset-restarting", Severity: transform.Error, Guards: managerRuns,
			Doc: "A cloud-controller-manager restarted after it acquired the migration lease or its own, or restarts repeatedly. A warning if a process on another machine holds the lease: the clocks of two machines can differ."}.Because(
			"The manager exits whenever it leads, so that the cloud controllers run only for seconds.", transform.SourceAWS, "Read the log of the container that ended; missing permissions and --cluster-cidr are the usual causes.", "If the restart was made on purpose."), Check: (*evaluation).daemonSetRestarting, Lacks: seen(observed.Pods)},
		{Rule: transform.Rule{ID: "ecr-credentials", Severity: transform.Warning, Guards: always,
			Doc: "With --target-version 1.27 or later: nodes have images from ECR, for which the kubelet then has no credentials of its own."}.Because(
			"From 1.27 on the kubelet has no credentials for ECR of its own, and new pods stay in ImagePullBackOff.", transform.SourceRemovals, "Install ecr-credential-provider on the nodes before the upgrade.", "If images come through a mirror or with pull secrets."), Check: (*evaluation).ecrCredentials, Lacks: seen(observed.Nodes)},
		{Rule: transform.Rule{ID: "in-tree-volumes", Severity: transform.Error, Guards: always,
			Doc: "EBS volumes or storage classes are in-tree, and a node has no EBS CSI driver: no component attaches them after the switch."}.Because(
			"After the switch no component attaches in-tree EBS volumes, except the CSI driver on the node.", "kubernetes docs: CSI migration", "Install the AWS EBS CSI driver on every node.", "If the volumes are not used any more."), Check: (*evaluation).inTreeVolumes, Lacks: seen(observed.Nodes, observed.Volumes, observed.StorageClasses, observed.CSINodes)},
		{Rule: transform.Rule{ID: "leader-missing", Severity: transform.Error, Guards: managerRuns,
			Doc: "No cloud-controller-manager is the leader: its own lease does not exist, was not renewed for 30 seconds, or no holder keeps it. Or not all cloud controllers run, although kube-controller-manager is external. Also without --stage. Not checked if a single reading, as in a dump, does not show it."}.Because(
			"No cloud-controller-manager leads: nodes are not initialized, and after the switch no load balancer is made.", transform.SourceMigration, "Read the log and the Events of its pods.", "If the manager is stopped on purpose."), Check: (*evaluation).leaderMissing, Lacks: leaderUnseen, Needed: func(j *evaluation) bool {
			// Without a stage too, once no one but the cloud-controller-manager can run the cloud controllers.
			return ofStages(externally)(j) || j.Check.Stage == "" && j.isExternal()
		}},
		{Rule: transform.Rule{ID: "cloud-controllers-nowhere", Severity: transform.Error, Guards: flagOn,
			Doc: "Leader migration is enabled, and the migration lease does not exist or is held by neither manager. Or its holder has not been alive for more than 30 seconds. A warning if a single reading, as in a dump, does not show it."}.Because(
			"No manager runs the cloud controllers: load balancers, routes and the removal of nodes do not run.", transform.SourceMigration, "Check the managers' logs for the lease, and the permission on it.", "If both managers are restarting, and another observation shows a leader."), Check: (*evaluation).leaseOwnerless, Lacks: seen(observed.Leases, observed.Pods), Needed: ofStages(underLease)},
		{Rule: transform.Rule{ID: "lease-rbac-missing", Severity: transform.Error, Guards: always,
			Doc: "A manager has no permission on the migration lease, or the cloud-controller-manager has none on its own lease."}.Because(
			"The manager without permission never acquires the lease, and its controllers do not start.", "kubernetes/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy", "Apply the Role and RoleBinding of grant-migration-lease.", "If the identity that the rule asks for is not the one that the manager has."), Check: (*evaluation).leaseRBACMissing, Lacks: reviews, Needed: ofStages(lockable)},
		{Rule: transform.Rule{ID: "lease-wrong-holder", Severity: transform.Error, Guards: flagOn,
			Doc: "The migration lease is held by another manager than the stage expects, or by a kube-controller-manager that is external and runs nothing."}.Because(
			"The stage did not do what it promised, or the holder runs nothing.", transform.SourceMigration, "Check the arguments of the manager that holds the lease.", "If both managers are able to run the controllers at this stage."), Check: (*evaluation).leaseWrongOwner, Lacks: seen(observed.Leases), Needed: ofStages(underLease)},
		{Rule: transform.Rule{ID: rules.LeaseTimingsUnsafe.ID, Severity: transform.Error, Guards: always,
			Doc: rules.LeaseTimingsUnsafe.Doc, Reason: rules.LeaseTimingsUnsafe.Reason}, Check: (*evaluation).leaseTimingsUnsafe, Lacks: timingsSeen},
		{Rule: transform.Rule{ID: "load-balancer-changed", Severity: transform.Warning, Guards: always,
			Doc: "A Service has another load balancer than in the snapshot."}.Because(
			"Clients use the host name of the old load balancer.", transform.SourceAWS, "Update what refers to the old name, or restore the Service.", "If the Service was made again on purpose."), Check: (*evaluation).loadBalancerChanged, Lacks: compared(observed.Services)},
		{Rule: transform.Rule{ID: loadBalancerPending, Severity: transform.Error, Guards: always,
			Doc: "A Service of type LoadBalancer has had none for 5 minutes, by the API server's clock, and its Events show the cause. A warning before the switch, because the migration has not changed anything for it yet, and if it had none in the snapshot either. Services of another controller are ignored: those with a loadBalancerClass, and those of the AWS Load Balancer Controller."}.Because(
			"The Service is not reachable from outside.", transform.SourceAWS, "Do what the finding names in AWS.", "If the migration is not the cause, and the Service had no load balancer before."), Check: (*evaluation).loadBalancerPending, Lacks: clocked(observed.Service.Pending)},
		{Rule: transform.Rule{ID: loadBalancerStale, Severity: transform.Error, Guards: always,
			Doc: "The cloud controllers have not done for 5 minutes, by the API server's clock, what a Service with a load balancer asks for. The Service is deleted or has another type, and the finalizer of its load balancer is still there. Or its changes fail, according to its Events. A warning in the cases of load-balancer-pending."}.Because(
			"A load balancer that stays costs money, and its Service and its namespace cannot be deleted. One whose changes fail sends requests to nodes that are gone.", transform.SourceAWS, "Do what the finding names in AWS; the cloud controllers try again every 5 minutes.", "If the migration is not the cause, and the same was the case before."), Check: (*evaluation).loadBalancerStale, Lacks: eventsRead},
		{Rule: transform.Rule{ID: "node-name-hidden", Severity: transform.Warning, Guards: always,
			Doc: "A machine of RKE2 has a node-name of its own, from its registration or its config.yaml, and its Node another name: from 1.29.11, 1.30.7, 1.31.3 and 1.32 on cloud-provider-name: aws overwrites it, and external brings it back. migrate refuses external for such Nodes with node-rename."}.Because(
			"With external the kubelet registers a new Node under the node-name of the machine.", transform.SourceNodeNames, "Choose aws-override, or remove node-name on the machine and make the host name equal to the name of the Node.", "If the Node may register again under the other name."), Check: (*evaluation).nodeNameHidden, Lacks: seen(observed.Nodes)},
		{Rule: transform.Rule{ID: "node-new", Severity: transform.Error, Guards: always,
			Doc: "A Node is not in the snapshot."}.Because(
			"A Node that is not in the snapshot can be an old machine under a new name.", transform.SourceNodeNames, "Compare its instance ID with the Nodes of the snapshot.", "If the machine was added on purpose."), Check: (*evaluation).nodeNew, Lacks: compared(observed.Nodes)},
		{Rule: transform.Rule{ID: "node-not-ready", Severity: transform.Error, Guards: always,
			Doc: "The condition Ready of a Node is not True, and the Node is a control plane or was ready in the snapshot. A warning for any other Node."}.Because(
			"A control plane that is down makes the next restart an outage.", "kubernetes docs: node status", "Repair the node first.", "If the node is known to be lost and etcd has its quorum without it."), Check: (*evaluation).nodeNotReady, Lacks: conditions},
		{Rule: transform.Rule{ID: "node-renamed", Severity: transform.Error, Guards: always,
			Doc: "A Node has another name, UID or provider ID than in the snapshot."}.Because(
			"Pods, volumes and labels stay with the old Node.", transform.SourceNodeNames, "Undo the switch before more machines restart, and set the names.", "If the machine was replaced on purpose."), Check: (*evaluation).nodeRenamed, Lacks: compared(observed.Nodes)},
		{Rule: transform.Rule{ID: "node-uninitialized", Severity: transform.Error, Guards: always,
			Doc: "A Node has the taint for uninitialized nodes, or lacks the labels from the initialization."}.Because(
			"The taint keeps pods off the node until a cloud-controller-manager has initialized it.", "kubernetes docs: cloud controller manager", "Check whether the manager finds the instance: name, tags, permissions.", "If the node is being removed."), Check: (*evaluation).nodeUninitialized, Lacks: seen(observed.Nodes), Needed: ofStages(externally)},
		{Rule: transform.Rule{ID: "provider-id-duplicate", Severity: transform.Error, Guards: always,
			Doc: "Two Nodes have the same instance."}.Because(
			"One of the two Nodes is a copy: the removal of its instance removes both.", transform.SourceAWS, "Delete the Node that has no kubelet. If it is an etcd member, replace its machine instead.", "If one of the two is being removed."), Check: (*evaluation).providerIDDuplicate, Lacks: seen(observed.Nodes)},
		{Rule: transform.Rule{ID: "provider-id-foreign", Severity: transform.Error, Guards: always,
			Doc: "A provider ID is not one of AWS, such as rke2:// of RKE2's own stub."}.Because(
			"The manager cannot find the instance; it neither updates nor removes the Node. The ID cannot be changed.", "k3s-io/k3s pkg/cloudprovider; "+transform.SourceAWS, "Replace the machine. If it is no etcd member, you can also delete the Node and let it register again.", "For machines that are not in AWS."), Check: (*evaluation).providerIDForeign, Lacks: seen(observed.Nodes)},
		{Rule: transform.Rule{ID: "provider-id-malformed", Severity: transform.Error, Guards: always,
			Doc: "A provider ID is not of the form aws:///ZONE/INSTANCE, or its instance ID is not one of EC2."}.Because(
			"The manager cannot read the ID, and treats the Node as one of another provider.", transform.SourceAWS, "Replace the machine. If it is no etcd member, you can also delete the Node and let it register again.", "For machines that are not in AWS."), Check: (*evaluation).providerIDMalformed, Lacks: seen(observed.Nodes)},
		{Rule: transform.Rule{ID: "provider-id-missing", Severity: transform.Error, Guards: always,
			Doc: "A Node has no provider ID."}.Because(
			"Without an ID the manager finds the instance only by the private DNS name, and later releases do not.", transform.SourceAWS, "Run the stage set-provider-ids, or add the taint for uninitialized nodes once a cloud-controller-manager runs.", "For machines that are not in AWS."), Check: (*evaluation).providerIDMissing, Lacks: seen(observed.Nodes), Needed: ofStages(externally)},
		{Rule: transform.Rule{ID: "provider-id-zone-mismatch", Severity: transform.Error, Guards: always,
			Doc: "The zone in a provider ID is not that of the Node's label."}.Because(
			"Volumes of the zone in the label are not attached in the zone of the instance.", transform.SourceAWS, "Correct the label, or replace the machine.", "If the label is set on purpose."), Check: (*evaluation).providerIDZoneMismatch, Lacks: seen(observed.Nodes)},
		{Rule: transform.Rule{ID: "reverted", Severity: transform.Warning, Guards: always,
			Doc: "The result of an applied stage is not visible any more: the cluster was changed."}.Because(
			"Another program or a person undid the stage; the next one would start from a wrong state.", "the object's managedFields", "Find out who changed it, and apply the stage again.", "If it was undone on purpose."), Check: (*evaluation).reverted, Lacks: seen(observed.Pods)},
		{Rule: transform.Rule{ID: "stage-not-reached", Severity: transform.Error, Guards: always,
			Doc: "The arguments of the managers and the holder of the migration lease do not show the result of the stage. Or they still show that of a stage that was undone."}.Because(
			"The managers still run with the old arguments, or have not acquired the lease.", transform.SourceMigration, "Wait for the rollout; then check the arguments of the managers.", "If the managers are known to be as the stage wants, and the observation is old."), Check: (*evaluation).stageNotReached, Lacks: managersSeen, Needed: ofStages(stages.ShownByPods())},
		{Rule: transform.Rule{ID: "cloud-controllers-twice", Severity: transform.Error, Guards: always,
			Doc: "According to their arguments and leases both managers run the same cloud controllers, or a node runs two static pods of kube-controller-manager: a warning if the two are equal."}.Because(
			"Both managers create, change and delete the same load balancers and routes.", transform.SourceMigration, "Undo the last stage, and check the flags of both managers.", "Never while both run."), Check: (*evaluation).twoOwners, Lacks: seen(observed.Pods, observed.Leases)},
	}
}

// ofStages are rules that alone show the result of some stages.
func ofStages(list []string) func(*evaluation) bool {
	return func(j *evaluation) bool { return slices.Contains(list, j.Check.Stage) }
}
