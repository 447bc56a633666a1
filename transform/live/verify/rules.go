// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observation"
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
	handedOver  = stages.Where(func(c stages.Check) bool { return c.External })
	released    = stages.Where(func(c stages.Check) bool { return c.Released })
	uncordoned  = stages.Where(func(c stages.Check) bool { return !c.Cordoned })
)

// Rules are the rules of live clusters, for the documentation.
func Rules() []transform.Rule { return transform.RulesOf(checked()) }

// checked are the rules as all distros have them.
func checked() []transform.Checked[*evaluation] {
	return lists.Map(liveRules(), func(r rule) transform.Checked[*evaluation] { return r.Checked })
}

// liveRules is the one table of them.
func liveRules() []rule {
	return []rule{
		live(rules.CCMArgsUnsafe.ID, transform.Error, managerRuns, (*evaluation).ccmArgsUnsafe, anyArguments, nil, "With its arguments the cloud-controller-manager exits when it acquires the lease: routes are on without --cluster-cidr."),
		live("ccm-removed", transform.Error, managerRuns, (*evaluation).ccmRemoved, seen(observation.Pods, observation.Leases), nil, "kube-controller-manager is external, and no pod of the cloud-controller-manager exists: no manager runs the cloud controllers. Also without --stage."),
		live("cluster-not-settled", transform.Error, always, (*evaluation).clusterNotSettled, ranchers, nil, "On Rancher's own cluster: Rancher or a machine has not applied the last change of a cluster."),
		live("cordon-left", transform.Error, uncordoned, (*evaluation).cordonLeft, seen(observation.Nodes), released, "A node that rke-lm cordoned is still cordoned."),
		live("daemonset-empty", transform.Error, managerRuns, (*evaluation).daemonSetEmpty, anyManager, managerRuns, "The DaemonSet of the cloud-controller-manager has no desired pods, or fewer or more than there are control planes, or not all are ready. `kubectl rollout status` succeeds for a DaemonSet without pods."),
		live("daemonset-restarting", transform.Error, managerRuns, (*evaluation).daemonSetRestarting, seen(observation.Pods), nil, "A cloud-controller-manager restarted after it acquired the migration lease or its own, or restarts repeatedly. A warning if a process on another machine holds the lease: the clocks of two machines can differ."),
		live("ecr-credentials", transform.Warning, always, (*evaluation).ecrCredentials, seen(observation.Nodes), nil, "With --target-version 1.27 or later: nodes have images from ECR, for which the kubelet then has no credentials of its own."),
		live("in-tree-volumes", transform.Error, always, (*evaluation).inTreeVolumes, seen(observation.Nodes, observation.Volumes, observation.StorageClasses, observation.CSINodes), nil, "EBS volumes or storage classes are in-tree, and a node has no EBS CSI driver: no component attaches them after the switch."),
		handed(live("leader-missing", transform.Error, managerRuns, (*evaluation).leaderMissing, leaderUnseen, handedOver, "No cloud-controller-manager is the leader: its own lease does not exist, was not renewed for 30 seconds, or no holder keeps it. Or not all cloud controllers run, although kube-controller-manager is external. Also without --stage. Not checked if one observation does not show it.")),
		live("cloud-controllers-nowhere", transform.Error, flagOn, (*evaluation).leaseOwnerless, seen(observation.Leases, observation.Pods), underLease, "Leader migration is enabled, and the migration lease does not exist or is held by neither manager. Or its holder has not been alive for more than 30 seconds. A warning if one observation does not show it."),
		live("lease-rbac-missing", transform.Error, always, (*evaluation).leaseRBACMissing, reviews, lockable, "A manager has no permission on the migration lease, or the cloud-controller-manager has none on its own lease."),
		live("lease-wrong-holder", transform.Error, flagOn, (*evaluation).leaseWrongOwner, seen(observation.Leases), underLease, "The migration lease is held by another manager than the stage expects, or by a kube-controller-manager that is external and runs nothing."),
		live("load-balancer-changed", transform.Warning, always, (*evaluation).loadBalancerChanged, compared(observation.Services), nil, "A Service has another load balancer than in the snapshot."),
		live(LoadBalancerPending, transform.Error, always, (*evaluation).loadBalancerPending, clocked(observation.Service.Pending), nil, "A Service of type LoadBalancer has had none for 5 minutes, by the API server's clock, and its Events show the cause. A warning before the switch, because the migration has not changed anything for it yet, and if it had none in the snapshot either. Services of another controller are ignored: those with a loadBalancerClass, and those of the AWS Load Balancer Controller."),
		live(loadBalancerStale, transform.Error, always, (*evaluation).loadBalancerStale, eventsRead, nil, "The cloud controllers have not done for 5 minutes, by the API server's clock, what a Service with a load balancer asks for. The Service is deleted or has another type, and the finalizer of its load balancer is still there. Or its changes fail, according to its Events. A warning in the cases of load-balancer-pending."),
		live("node-name-hidden", transform.Warning, always, (*evaluation).nodeNameHidden, seen(observation.Nodes), nil, "A machine of RKE2 has a node-name of its own, from its registration or its config.yaml, and its Node another name: from 1.29.11, 1.30.7, 1.31.3 and 1.32 on cloud-provider-name: aws overwrites it, and external brings it back. migrate refuses external for such Nodes with node-rename."),
		live("node-new", transform.Error, always, (*evaluation).nodeNew, compared(observation.Nodes), nil, "A Node is not in the snapshot."),
		live("node-not-ready", transform.Error, always, (*evaluation).nodeNotReady, conditions, nil, "The condition Ready of a Node is not True, and the Node is a control plane or was ready in the snapshot. A warning for any other Node."),
		live("node-renamed", transform.Error, always, (*evaluation).nodeRenamed, compared(observation.Nodes), nil, "A Node has another name, UID or provider ID than in the snapshot."),
		live("node-uninitialized", transform.Error, always, (*evaluation).nodeUninitialized, seen(observation.Nodes), handedOver, "A Node has the taint for uninitialized nodes, or lacks the labels from the initialization."),
		live("provider-id-duplicate", transform.Error, always, (*evaluation).providerIDDuplicate, seen(observation.Nodes), nil, "Two Nodes have the same instance."),
		live("provider-id-foreign", transform.Error, always, (*evaluation).providerIDForeign, seen(observation.Nodes), nil, "A provider ID is not one of AWS, such as rke2:// of RKE2's own stub."),
		live("provider-id-malformed", transform.Error, always, (*evaluation).providerIDMalformed, seen(observation.Nodes), nil, "A provider ID is not of the form aws:///ZONE/INSTANCE, or its instance ID is not one of EC2."),
		live("provider-id-missing", transform.Error, always, (*evaluation).providerIDMissing, seen(observation.Nodes), handedOver, "A Node has no provider ID."),
		live("provider-id-zone-mismatch", transform.Error, always, (*evaluation).providerIDZoneMismatch, seen(observation.Nodes), nil, "The zone in a provider ID is not that of the Node's label."),
		live("reverted", transform.Warning, always, (*evaluation).reverted, seen(observation.Pods), nil, "The result of an applied stage is not visible any more: the cluster was changed."),
		live("stage-not-reached", transform.Error, always, (*evaluation).stageNotReached, managersSeen, stages.ShownByPods(), "The arguments of the managers and the holder of the migration lease do not show the result of the stage. Or they still show that of a stage that was undone."),
		live("cloud-controllers-twice", transform.Error, always, (*evaluation).twoOwners, seen(observation.Pods, observation.Leases), nil, "According to their arguments and leases both managers run the same cloud controllers, or a node runs two static pods of kube-controller-manager: a warning if the two are equal."),
	}
}

// live is a row. Every error may be accepted: what was seen may have changed.
func live(id string, severity transform.Severity, guards []string, check func(*evaluation) []transform.Finding, lacks func(*evaluation) string, shows []string, doc string) rule {
	r := transform.Rule{ID: id, Severity: severity, Guards: guards, Acceptable: true, Doc: doc}
	return rule{transform.Checked[*evaluation]{Rule: r, Check: transform.Listed(check)}, lacks, shows, nil}
}

// handed is a rule that a cluster whose controllers were handed over is not checked
// without.
func handed(r rule) rule {
	r.needed = (*evaluation).handedOver
	return r
}
