// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// rule is a row of the table.
type rule struct {
	transform.Checked[*evaluation]
	// lacks says what the rule cannot do without and was not seen; "" for nothing.
	lacks func(*evaluation) string
	// shows are the stages whose result only this rule looks at.
	shows []string
	// needed means that without a stage the cluster cannot be checked without the rule
	// either; nil for never.
	needed func(*evaluation) bool
}

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
func Rules() []transform.Rule { return transform.RulesOf(checked()) }

// checked are the rules as all formats have them.
func checked() []transform.Checked[*evaluation] {
	return lists.Map(liveRules(), func(r rule) transform.Checked[*evaluation] { return r.Checked })
}

// liveRules is the one table of them.
func liveRules() []rule {
	return []rule{
		live(rules.CCMArgsUnsafe.ID, transform.Error, managerRuns, (*evaluation).ccmArgsUnsafe, anyArguments, nil, "With its arguments the cloud-controller-manager exits when it acquires the lease: routes are on without --cluster-cidr.").because(rules.CCMArgsUnsafe.Reason.Texts()),
		live("ccm-removed", transform.Error, managerRuns, (*evaluation).ccmRemoved, seen(observed.Pods, observed.Leases), nil, "kube-controller-manager is external, and no pod of the cloud-controller-manager exists: no manager runs the cloud controllers. Also without --stage.").because(rules.CCMRemoved.Texts()),
		live("cluster-not-settled", transform.Error, always, (*evaluation).clusterNotSettled, ranchers, nil, "On Rancher's own cluster: Rancher or a machine has not applied the last change of a cluster.").because(rules.NotSettled.Texts()),
		live("cordon-left", transform.Error, uncordoned, (*evaluation).cordonLeft, seen(observed.Nodes), released, "A node that rke-lm cordoned is still cordoned.").because(
			"No pod is scheduled to the node any more.", "rke-lm annotates what it cordons", "Run the stage uncordon-control-plane.", "If the node is cordoned for another reason by now."),
		live("daemonset-empty", transform.Error, managerRuns, (*evaluation).daemonSetEmpty, anyManager, managerRuns, "The DaemonSet of the cloud-controller-manager has no desired pods, or fewer or more than there are control planes, or not all are ready. `kubectl rollout status` succeeds for a DaemonSet without pods.").because(
			"No manager runs on some control planes, or on none, and the rollout of a DaemonSet without pods also succeeds.", "kubernetes/kubectl pkg/polymorphichelpers/rollout_status.go", "Correct the selector and the tolerations of the DaemonSet.", "If a control plane is known to be down."),
		live("daemonset-restarting", transform.Error, managerRuns, (*evaluation).daemonSetRestarting, seen(observed.Pods), nil, "A cloud-controller-manager restarted after it acquired the migration lease or its own, or restarts repeatedly. A warning if a process on another machine holds the lease: the clocks of two machines can differ.").because(
			"The manager exits whenever it leads, so that the cloud controllers run only for seconds.", transform.SourceAWS, "Read the log of the container that ended; missing permissions and --cluster-cidr are the usual causes.", "If the restart was made on purpose."),
		live("ecr-credentials", transform.Warning, always, (*evaluation).ecrCredentials, seen(observed.Nodes), nil, "With --target-version 1.27 or later: nodes have images from ECR, for which the kubelet then has no credentials of its own.").because(
			"From 1.27 on the kubelet has no credentials for ECR of its own, and new pods stay in ImagePullBackOff.", transform.SourceRemovals, "Install ecr-credential-provider on the nodes before the upgrade.", "If images come through a mirror or with pull secrets."),
		live("in-tree-volumes", transform.Error, always, (*evaluation).inTreeVolumes, seen(observed.Nodes, observed.Volumes, observed.StorageClasses, observed.CSINodes), nil, "EBS volumes or storage classes are in-tree, and a node has no EBS CSI driver: no component attaches them after the switch.").because(
			"After the switch no component attaches in-tree EBS volumes, except the CSI driver on the node.", "kubernetes docs: CSI migration", "Install the AWS EBS CSI driver on every node.", "If the volumes are not used any more."),
		whenExternal(live("leader-missing", transform.Error, managerRuns, (*evaluation).leaderMissing, leaderUnseen, externally, "No cloud-controller-manager is the leader: its own lease does not exist, was not renewed for 30 seconds, or no holder keeps it. Or not all cloud controllers run, although kube-controller-manager is external. Also without --stage. Not checked if a single reading, as in a dump, does not show it.").because(
			"No cloud-controller-manager leads: nodes are not initialized, and after the switch no load balancer is made.", transform.SourceMigration, "Read the log and the Events of its pods.", "If the manager is stopped on purpose.")),
		live("cloud-controllers-nowhere", transform.Error, flagOn, (*evaluation).leaseOwnerless, seen(observed.Leases, observed.Pods), underLease, "Leader migration is enabled, and the migration lease does not exist or is held by neither manager. Or its holder has not been alive for more than 30 seconds. A warning if a single reading, as in a dump, does not show it.").because(
			"No manager runs the cloud controllers: load balancers, routes and the removal of nodes do not run.", transform.SourceMigration, "Check the managers' logs for the lease, and the permission on it.", "If both managers are restarting, and another observation shows a leader."),
		live("lease-rbac-missing", transform.Error, always, (*evaluation).leaseRBACMissing, reviews, lockable, "A manager has no permission on the migration lease, or the cloud-controller-manager has none on its own lease.").because(
			"The manager without permission never acquires the lease, and its controllers do not start.", "kubernetes/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy", "Apply the Role and RoleBinding of grant-migration-lease.", "If the identity that the rule asks for is not the one that the manager has."),
		live("lease-wrong-holder", transform.Error, flagOn, (*evaluation).leaseWrongOwner, seen(observed.Leases), underLease, "The migration lease is held by another manager than the stage expects, or by a kube-controller-manager that is external and runs nothing.").because(
			"The stage did not do what it promised, or the holder runs nothing.", transform.SourceMigration, "Check the arguments of the manager that holds the lease.", "If both managers are able to run the controllers at this stage."),
		live(rules.LeaseTimingsUnsafe.ID, transform.Error, always, (*evaluation).leaseTimingsUnsafe, timingsSeen, nil, rules.LeaseTimingsUnsafe.Doc).because(rules.LeaseTimingsUnsafe.Reason.Texts()),
		live("load-balancer-changed", transform.Warning, always, (*evaluation).loadBalancerChanged, compared(observed.Services), nil, "A Service has another load balancer than in the snapshot.").because(
			"Clients use the host name of the old load balancer.", transform.SourceAWS, "Update what refers to the old name, or restore the Service.", "If the Service was made again on purpose."),
		live(loadBalancerPending, transform.Error, always, (*evaluation).loadBalancerPending, clocked(observed.Service.Pending), nil, "A Service of type LoadBalancer has had none for 5 minutes, by the API server's clock, and its Events show the cause. A warning before the switch, because the migration has not changed anything for it yet, and if it had none in the snapshot either. Services of another controller are ignored: those with a loadBalancerClass, and those of the AWS Load Balancer Controller.").because(
			"The Service is not reachable from outside.", transform.SourceAWS, "Do what the finding names in AWS.", "If the migration is not the cause, and the Service had no load balancer before."),
		live(loadBalancerStale, transform.Error, always, (*evaluation).loadBalancerStale, eventsRead, nil, "The cloud controllers have not done for 5 minutes, by the API server's clock, what a Service with a load balancer asks for. The Service is deleted or has another type, and the finalizer of its load balancer is still there. Or its changes fail, according to its Events. A warning in the cases of load-balancer-pending.").because(
			"A load balancer that stays costs money, and its Service and its namespace cannot be deleted. One whose changes fail sends requests to nodes that are gone.", transform.SourceAWS, "Do what the finding names in AWS; the cloud controllers try again every 5 minutes.", "If the migration is not the cause, and the same was the case before."),
		live("node-name-hidden", transform.Warning, always, (*evaluation).nodeNameHidden, seen(observed.Nodes), nil, "A machine of RKE2 has a node-name of its own, from its registration or its config.yaml, and its Node another name: from 1.29.11, 1.30.7, 1.31.3 and 1.32 on cloud-provider-name: aws overwrites it, and external brings it back. migrate refuses external for such Nodes with node-rename.").because(
			"With external the kubelet registers a new Node under the node-name of the machine.", transform.SourceNodeNames, "Choose aws-override, or remove node-name on the machine and make the host name equal to the name of the Node.", "If the Node may register again under the other name."),
		live("node-new", transform.Error, always, (*evaluation).nodeNew, compared(observed.Nodes), nil, "A Node is not in the snapshot.").because(
			"A Node that is not in the snapshot can be an old machine under a new name.", transform.SourceNodeNames, "Compare its instance ID with the Nodes of the snapshot.", "If the machine was added on purpose."),
		live("node-not-ready", transform.Error, always, (*evaluation).nodeNotReady, conditions, nil, "The condition Ready of a Node is not True, and the Node is a control plane or was ready in the snapshot. A warning for any other Node.").because(
			"A control plane that is down makes the next restart an outage.", "kubernetes docs: node status", "Repair the node first.", "If the node is known to be lost and etcd has its quorum without it."),
		live("node-renamed", transform.Error, always, (*evaluation).nodeRenamed, compared(observed.Nodes), nil, "A Node has another name, UID or provider ID than in the snapshot.").because(
			"Pods, volumes and labels stay with the old Node.", transform.SourceNodeNames, "Undo the switch before more machines restart, and set the names.", "If the machine was replaced on purpose."),
		live("node-uninitialized", transform.Error, always, (*evaluation).nodeUninitialized, seen(observed.Nodes), externally, "A Node has the taint for uninitialized nodes, or lacks the labels from the initialization.").because(
			"The taint keeps pods off the node until a cloud-controller-manager has initialized it.", "kubernetes docs: cloud controller manager", "Check whether the manager finds the instance: name, tags, permissions.", "If the node is being removed."),
		live("provider-id-duplicate", transform.Error, always, (*evaluation).providerIDDuplicate, seen(observed.Nodes), nil, "Two Nodes have the same instance.").because(
			"One of the two Nodes is a copy: the removal of its instance removes both.", transform.SourceAWS, "Delete the Node that has no kubelet. If it is an etcd member, replace its machine instead.", "If one of the two is being removed."),
		live("provider-id-foreign", transform.Error, always, (*evaluation).providerIDForeign, seen(observed.Nodes), nil, "A provider ID is not one of AWS, such as rke2:// of RKE2's own stub.").because(
			"The manager cannot find the instance; it neither updates nor removes the Node. The ID cannot be changed.", "k3s-io/k3s pkg/cloudprovider; "+transform.SourceAWS, "Replace the machine. If it is no etcd member, you can also delete the Node and let it register again.", "For machines that are not in AWS."),
		live("provider-id-malformed", transform.Error, always, (*evaluation).providerIDMalformed, seen(observed.Nodes), nil, "A provider ID is not of the form aws:///ZONE/INSTANCE, or its instance ID is not one of EC2.").because(
			"The manager cannot read the ID, and treats the Node as one of another provider.", transform.SourceAWS, "Replace the machine. If it is no etcd member, you can also delete the Node and let it register again.", "For machines that are not in AWS."),
		live("provider-id-missing", transform.Error, always, (*evaluation).providerIDMissing, seen(observed.Nodes), externally, "A Node has no provider ID.").because(
			"Without an ID the manager finds the instance only by the private DNS name, and later releases do not.", transform.SourceAWS, "Run the stage set-provider-ids, or add the taint for uninitialized nodes once a cloud-controller-manager runs.", "For machines that are not in AWS."),
		live("provider-id-zone-mismatch", transform.Error, always, (*evaluation).providerIDZoneMismatch, seen(observed.Nodes), nil, "The zone in a provider ID is not that of the Node's label.").because(
			"Volumes of the zone in the label are not attached in the zone of the instance.", transform.SourceAWS, "Correct the label, or replace the machine.", "If the label is set on purpose."),
		live("reverted", transform.Warning, always, (*evaluation).reverted, seen(observed.Pods), nil, "The result of an applied stage is not visible any more: the cluster was changed.").because(
			"Another program or a person undid the stage; the next one would start from a wrong state.", "the object's managedFields", "Find out who changed it, and apply the stage again.", "If it was undone on purpose."),
		live("stage-not-reached", transform.Error, always, (*evaluation).stageNotReached, managersSeen, stages.ShownByPods(), "The arguments of the managers and the holder of the migration lease do not show the result of the stage. Or they still show that of a stage that was undone.").because(
			"The managers still run with the old arguments, or have not acquired the lease.", transform.SourceMigration, "Wait for the rollout; then check the arguments of the managers.", "If the managers are known to be as the stage wants, and the observation is old."),
		live("cloud-controllers-twice", transform.Error, always, (*evaluation).twoOwners, seen(observed.Pods, observed.Leases), nil, "According to their arguments and leases both managers run the same cloud controllers, or a node runs two static pods of kube-controller-manager: a warning if the two are equal.").because(
			"Both managers create, change and delete the same load balancers and routes.", transform.SourceMigration, "Undo the last stage, and check the flags of both managers.", "Never while both run."),
	}
}

// live is a row. Its error may be accepted: what was seen may have changed.
func live(id string, severity transform.Severity, guards []string, check func(*evaluation, report), lacks func(*evaluation) string, shows []string, doc string) rule {
	r := transform.Rule{ID: id, Severity: severity, Guards: guards, Doc: doc}
	return rule{transform.Checked[*evaluation]{Rule: r, Check: func(j *evaluation, found *transform.Findings) {
		check(j, func(path, message, fix string) *transform.Finding {
			return found.Add(transform.Finding{Path: path, Message: message, Fix: fix})
		})
	}}, lacks, shows, nil}
}

// because is the row with the reason of its rule.
func (r rule) because(why, source, repair, accept string) rule {
	r.Checked = r.Because(why, source, repair, accept)
	return r
}

// whenExternal is a rule that needs evidence once no one but the cloud-controller-manager can run the cloud
// controllers.
func whenExternal(r rule) rule {
	r.needed = (*evaluation).isExternal
	return r
}
