// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/rke-lm/rke-lm/transform"
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
	// needed says that without a stage the cluster cannot be judged without the rule
	// either; nil for never.
	needed func(*evaluation) bool
}

// always are all stages; the others are those after which something has to hold.
var (
	always      = stages.Names()
	lockable    = stages.Where(func(c stages.Check) bool { return c.Granted && c.Lease == stages.Anybody })
	flagOn      = stages.Where(func(c stages.Check) bool { return c.Lease != stages.Anybody })
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
	var table []transform.Checked[*evaluation]
	for _, r := range liveRules() {
		table = append(table, r.Checked)
	}
	return table
}

// liveRules is the one table of them.
func liveRules() []rule {
	return []rule{
		live(rules.CCMArgsUnsafe.ID, transform.Error, managerRuns, (*evaluation).ccmArgsUnsafe, anyArguments, nil, "The arguments of the cloud-controller-manager end it when it gains the lease: routes are on without --cluster-cidr."),
		live("cluster-not-settled", transform.Error, always, (*evaluation).clusterNotSettled, ranchers, nil, "On Rancher's own cluster: Rancher or a machine has not taken over the last change of a cluster."),
		live("cordon-left", transform.Error, uncordoned, (*evaluation).cordonLeft, seen(observation.Nodes), released, "A node that rke-lm cordoned was not released."),
		live("daemonset-empty", transform.Error, managerRuns, (*evaluation).daemonSetEmpty, anyManager, managerRuns, "The DaemonSet of the cloud-controller-manager wants no pods, or not as many as there are control planes, or they are not all ready. A rollout of no pods counts as done."),
		live("daemonset-restarting", transform.Error, managerRuns, (*evaluation).daemonSetRestarting, seen(observation.Pods), nil, "A cloud-controller-manager restarted since it has the migration lease or its own, or ends again and again. A warning where another machine's process holds the lease: the clocks of two machines may differ."),
		live("ecr-credentials", transform.Warning, always, (*evaluation).ecrCredentials, seen(observation.Nodes), nil, "With --target-version 1.27 or later: nodes have images from ECR, for which the kubelet then has no credentials of its own."),
		live("in-tree-volumes", transform.Error, always, (*evaluation).inTreeVolumes, seen(observation.Nodes, observation.Volumes, observation.StorageClasses, observation.CSINodes), nil, "EBS volumes or storage classes are in-tree, and a node has no EBS CSI driver: nobody attaches them after the switch."),
		handed(live("leader-missing", transform.Error, managerRuns, (*evaluation).leaderMissing, leaderUnseen, handedOver, "No cloud-controller-manager leads: its own lease is not there, was not renewed for 30 seconds, or nobody keeps it; or, with an external kube-controller-manager, no cloud-controller-manager is there or not all cloud controllers run. Without --stage too. Not judged where one look does not tell.")),
		live("lease-ownerless", transform.Error, flagOn, (*evaluation).leaseOwnerless, seen(observation.Leases, observation.Pods), underLease, "Leader migration is on, and the migration lease is not there, is held by neither manager, or by nobody alive for more than 30 seconds. A warning where one look does not tell."),
		live("lease-rbac-missing", transform.Error, always, (*evaluation).leaseRBACMissing, reviews, lockable, "A manager that has to lock the migration lease may not, or the cloud-controller-manager may not lock its own."),
		live("lease-wrong-owner", transform.Error, flagOn, (*evaluation).leaseWrongOwner, seen(observation.Leases), underLease, "The migration lease is held by another manager than the stage expects, or by a kube-controller-manager that is external and runs nothing."),
		live("load-balancer-changed", transform.Warning, always, (*evaluation).loadBalancerChanged, compared(observation.Services), nil, "A Service has another load balancer than in the snapshot."),
		live(LoadBalancerPending, transform.Error, always, (*evaluation).loadBalancerPending, clocked, nil, "A Service of type LoadBalancer has had none for 5 minutes, by the API server's clock, and its Events say why. A warning before the switch, because the migration has changed nothing for it yet, and where it had none in the snapshot either. Services of another controller do not count: those with a loadBalancerClass, and those of the AWS Load Balancer Controller."),
		live("node-new", transform.Error, always, (*evaluation).nodeNew, compared(observation.Nodes), nil, "A Node is not in the snapshot."),
		live("node-not-ready", transform.Error, always, (*evaluation).nodeNotReady, conditions, nil, "The condition Ready of a Node is not True, and the Node is a control plane or was ready in the snapshot. A warning for any other Node."),
		live("node-renamed", transform.Error, always, (*evaluation).nodeRenamed, compared(observation.Nodes), nil, "A Node has another name, UID or provider ID than in the snapshot."),
		live("node-uninitialized", transform.Error, always, (*evaluation).nodeUninitialized, seen(observation.Nodes), handedOver, "A Node has the taint of those that no cloud provider has initialised, or lacks the labels that the initialisation writes."),
		live("provider-id-duplicate", transform.Error, always, (*evaluation).providerIDDuplicate, seen(observation.Nodes), nil, "Two Nodes have the same instance."),
		live("provider-id-foreign", transform.Error, always, (*evaluation).providerIDForeign, seen(observation.Nodes), nil, "A provider ID is not one of AWS, such as rke2:// of RKE2's own stub."),
		live("provider-id-malformed", transform.Error, always, (*evaluation).providerIDMalformed, seen(observation.Nodes), nil, "A provider ID is not of the form aws:///ZONE/INSTANCE, or its instance ID is none that EC2 gives."),
		live("provider-id-missing", transform.Error, always, (*evaluation).providerIDMissing, seen(observation.Nodes), handedOver, "A Node has no provider ID."),
		live("provider-id-zone-mismatch", transform.Error, always, (*evaluation).providerIDZoneMismatch, seen(observation.Nodes), nil, "The zone in a provider ID is not that of the Node's label."),
		live("reverted", transform.Warning, always, (*evaluation).reverted, seen(observation.Pods), nil, "A stage that was applied does not show any more: somebody or something wrote the cluster."),
		live("stage-not-reached", transform.Error, always, (*evaluation).stageNotReached, managersSeen, stages.ShownByPods(), "The managers do not show the result of the stage, by their arguments and by who holds the migration lease; or, where a stage was taken back, they still show it."),
		live("two-owners", transform.Error, always, (*evaluation).twoOwners, seen(observation.Pods, observation.Leases), nil, "By their arguments and leases both managers run the same cloud controllers, or a node runs two static pods of kube-controller-manager: a warning where the two do the same."),
	}
}

// live is a row. Every error may be acknowledged: what was seen may have changed.
func live(id string, severity transform.Severity, guards []string, check func(*evaluation) []transform.Finding, lacks func(*evaluation) string, shows []string, doc string) rule {
	r := transform.Rule{ID: id, Severity: severity, Guards: guards, Acceptable: true, Doc: doc}
	return rule{transform.Checked[*evaluation]{Rule: r, Check: check}, lacks, shows, nil}
}

// handed is a rule that a cluster whose controllers were handed over is not judged
// without.
func handed(r rule) rule {
	r.needed = (*evaluation).handedOver
	return r
}
