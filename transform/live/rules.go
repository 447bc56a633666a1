// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package live

import "github.com/rke-lm/rke-lm/transform"

type rule = transform.Checked[*judge]

var (
	always   = transform.StageNames()
	flagOn   = always[1:7] // from enable-leader-migration to disable-leader-migration
	chartOn  = always[2:]
	released = append(always[:3:3], always[5:]...) // while nothing has to be cordoned
)

// Rules are the rules of live clusters, for the documentation.
func Rules() []transform.Rule { return transform.RulesOf(rules()) }

// rules is the one table of them.
func rules() []rule {
	return []rule{
		live("cluster-not-settled", transform.Error, always, (*judge).clusterNotSettled, "On Rancher's own cluster: Rancher or a machine has not taken over the last change of a cluster."),
		live("cordon-left", transform.Error, released, (*judge).cordonLeft, "A node that rke-lm cordoned was not released."),
		live("daemonset-empty", transform.Error, chartOn, (*judge).daemonSetEmpty, "The DaemonSet of the cloud-controller-manager wants no pods, or not as many as there are control planes, or they are not all ready. A rollout of no pods counts as done."),
		live("daemonset-restarting", transform.Error, chartOn, (*judge).daemonSetRestarting, "A cloud-controller-manager restarted since it has the migration lease, or ends again and again."),
		live("ecr-credentials", transform.Warning, always, (*judge).ecrCredentials, "With --target-version 1.27 or later: nodes have images from ECR, for which the kubelet then has no credentials of its own."),
		live("in-tree-volumes", transform.Error, always, (*judge).inTreeVolumes, "EBS volumes or storage classes are in-tree, and a node has no EBS CSI driver: nobody attaches them after the switch."),
		live("lease-ownerless", transform.Error, flagOn, (*judge).leaseOwnerless, "Leader migration is on, and the migration lease is not there, is held by neither manager, or by nobody alive for more than 30 seconds. A warning where one look does not tell."),
		live("lease-rbac-missing", transform.Error, always, (*judge).leaseRBACMissing, "A manager that has to lock the migration lease may not."),
		live("lease-wrong-owner", transform.Error, always[1:], (*judge).leaseWrongOwner, "The migration lease is held by another manager than the stage expects, or by a kube-controller-manager that is external and runs nothing."),
		live("load-balancer-changed", transform.Warning, always, (*judge).loadBalancerChanged, "A Service has another load balancer than in the snapshot."),
		live("node-new", transform.Error, always, (*judge).nodeNew, "A Node is not in the snapshot."),
		live("node-not-ready", transform.Error, always, (*judge).nodeNotReady, "The condition Ready of a Node is not True, and the Node is a control plane or was ready in the snapshot. A warning for any other Node."),
		live("node-renamed", transform.Error, always, (*judge).nodeRenamed, "A Node has another name, UID or provider ID than in the snapshot."),
		live("node-uninitialized", transform.Error, always, (*judge).nodeUninitialized, "A Node has the taint of those that no cloud provider has initialised, or lacks the labels that the initialisation writes."),
		live("provider-id-duplicate", transform.Error, always, (*judge).providerIDDuplicate, "Two Nodes have the same instance."),
		live("provider-id-foreign", transform.Error, always, (*judge).providerIDForeign, "A provider ID is not one of AWS, such as rke2:// of RKE2's own stub."),
		live("provider-id-malformed", transform.Error, always, (*judge).providerIDMalformed, "A provider ID is not of the form aws:///ZONE/INSTANCE."),
		live("provider-id-missing", transform.Error, always, (*judge).providerIDMissing, "A Node has no provider ID."),
		live("provider-id-zone-mismatch", transform.Error, always, (*judge).providerIDZoneMismatch, "The zone in a provider ID is not that of the Node's label."),
		live("reverted", transform.Warning, always, (*judge).reverted, "A stage that was applied does not show any more: somebody or something wrote the cluster."),
		live("two-owners", transform.Error, always, (*judge).twoOwners, "By their arguments and leases both managers run the same cloud controllers."),
	}
}

// live is a row. Every error may be acknowledged: what was seen may have changed.
func live(id string, severity transform.Severity, guards []string, check func(*judge) []transform.Finding, doc string) rule {
	return rule{Rule: transform.Rule{ID: id, Severity: severity, Guards: guards, Acceptable: true, Doc: doc}, Check: check}
}
