// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// nodeRules are about Nodes, their volumes and their images.
var nodeRules = []rule{
	// It also looks for the labels that the initialisation writes;
	// Fargate's nodes have no instance type.
	{Rule: transform.Rule{ID: "node-uninitialized", Severity: transform.Error, Guards: always,
		Doc: "A Node has the taint for uninitialized nodes, or lacks the labels from the initialization."}.Because(
		"The taint keeps pods off the node until a cloud-controller-manager has initialized it.", "kubernetes docs: cloud controller manager", "Check whether the manager finds the instance: name, tags, permissions.", "If the node is being removed."),
		Check: func(j *evaluation, found *transform.Findings) {
			for _, n := range j.Nodes {
				if n.Tainted(observed.Uninitialized) {
					found.On(nodePath(n.Name), "the node has the taint "+observed.Uninitialized+": no cloud-controller-manager has initialized it", "check the log of the cloud-controller-manager, and whether it finds the instance by the node's name")
					continue
				}
				missing := lists.Where([]string{observed.InstanceTypeLabel, observed.RegionLabel}, func(l string) bool {
					return n.Labels[l] == "" && !strings.Contains(n.ProviderID, "/"+aws.Fargate)
				})
				if len(missing) > 0 && n.ProviderID != "" {
					found.On(nodePath(n.Name), "labels from the initialization are missing: "+strings.Join(missing, ", "), j.initialize(n))
				}
			}
			j.unlessLater(*found)
		}, Lacks: seen(observed.Nodes), Needed: ofStages(externally)},
	// It compares the nodes with the snapshot: the same name with another
	// UID or provider ID, and the same instance under another name.
	{Rule: transform.Rule{ID: "node-renamed", Severity: transform.Error, Guards: always,
		Doc: "A Node has another name, UID or provider ID than in the snapshot."}.Because(
		"Pods, volumes and labels stay with the old Node.", transform.SourceNodeNames, "Undo the switch before more machines restart, and set the names.", "If the machine was replaced on purpose."),
		Check: func(j *evaluation, found *transform.Findings) {
			names, instances := j.nodesBefore()
			for _, n := range j.Nodes {
				const fix = "undo the switch, and set the host name of the machine to the name of its Node; see the guide on node names"
				was, known := names[n.Name]
				id, _ := aws.ParseProviderID(n.ProviderID)
				other := instances[id.Instance]
				_, identified := aws.ParseProviderID(was.ProviderID)
				switch path := nodePath(n.Name); {
				case known && was.ProviderID != "" && !identified && id.Instance != "": // set-provider-ids registered it again
				case !known && other != "":
					found.On(path, "the instance "+id.Instance+" was the node "+other+" before", fix)
				case known && was.UID != n.UID:
					found.On(path, "the node registered as a new Node: its UID changed", "check what it lost with the old Node: labels, taints, the cordon")
				case known && was.ProviderID != n.ProviderID && was.ProviderID != "":
					found.On(path, "the provider ID was "+was.ProviderID+" before", "find the instance of the node, and who replaced it")
				}
			}
		}, Lacks: compared(observed.Nodes)},
	// It finds machines that would register under a name of their own with an external provider.
	{Rule: transform.Rule{ID: "node-name-hidden", Severity: transform.Warning, Guards: always,
		Doc: "A machine of RKE2 has a node-name of its own, from its registration or its config.yaml, and its Node another name: from 1.29.11, 1.30.7, 1.31.3 and 1.32 on cloud-provider-name: aws overwrites it, and external brings it back. migrate refuses external for such Nodes with node-rename."}.Because(
		"With external the kubelet registers a new Node under the node-name of the machine.", transform.SourceNodeNames, "Choose aws-override, or remove node-name on the machine and make the host name equal to the name of the Node.", "If the Node may register again under the other name."),
		Check: func(j *evaluation, found *transform.Findings) {
			for _, n := range j.Nodes {
				if n.NodeName != "" && n.NodeName != n.Name {
					found.On(nodePath(n.Name), "its machine has the node-name "+n.NodeName+", which cloud-provider-name: aws overwrites on "+j.Observation.Version+"; with external it registers as a new Node of that name",
						"plan --end-state aws-override keeps the name of the Node; or remove node-name on the machine and set its host name to the name of the Node")
				}
			}
		}, Lacks: seen(observed.Nodes)},
	// It finds nodes that the snapshot knows neither by name nor by instance.
	{Rule: transform.Rule{ID: "node-new", Severity: transform.Error, Guards: always,
		Doc: "A Node is not in the snapshot."}.Because(
		"A Node that is not in the snapshot can be an old machine under a new name.", transform.SourceNodeNames, "Compare its instance ID with the Nodes of the snapshot.", "If the machine was added on purpose."),
		Check: func(j *evaluation, found *transform.Findings) {
			if j.Before == nil {
				return
			}
			names, instances := j.nodesBefore()
			for _, n := range j.Nodes {
				_, known := names[n.Name]
				if id, _ := aws.ParseProviderID(n.ProviderID); !known && instances[id.Instance] == "" {
					found.On(nodePath(n.Name), "the node is not in the snapshot", "if the machine was added on purpose, use --accept node-new; if not, it may be an old one under a new name")
				}
			}
		}, Lacks: compared(observed.Nodes)},
	{Rule: transform.Rule{ID: "cordon-left", Severity: transform.Error, Guards: uncordoned,
		Doc: "A node that rke-lm cordoned is still cordoned."}.Because(
		"No pod is scheduled to the node any more.", "rke-lm annotates what it cordons", "Run the stage uncordon-control-plane.", "If the node is cordoned for another reason by now."),
		Check: func(j *evaluation, found *transform.Findings) {
			for _, n := range j.Nodes {
				if n.Cordoned != "" && n.Unschedulable {
					found.On(nodePath(n.Name), "rke-lm cordoned the node for "+n.Cordoned+", and it is still cordoned",
						action.Command("kubectl uncordon %--%s && kubectl annotate node/%s %s-", n.Name, n.Name, action.CordonAnnotation))
				}
			}
		}, Lacks: seen(observed.Nodes), Needed: ofStages(released)},
	// It depends on the images that the nodes have.
	{Rule: transform.Rule{ID: "ecr-credentials", Severity: transform.Warning, Guards: always,
		Doc: "With --target-version 1.27 or later: nodes have images from ECR, for which the kubelet then has no credentials of its own."}.Because(
		"From 1.27 on the kubelet has no credentials for ECR of its own, and new pods stay in ImagePullBackOff.", transform.SourceRemovals, "Install ecr-credential-provider on the nodes before the upgrade.", "If images come through a mirror or with pull secrets."),
		Check: func(j *evaluation, found *transform.Findings) {
			if !k8s.From(j.Choice.Version, aws.FirstWithout) {
				return
			}
			images := lists.Flat(j.Nodes, func(n observed.Node) []string { return n.Registries })
			if from := lists.Distinct(slices.Sorted(slices.Values(images))); len(from) > 0 {
				found.On("nodes", "pods use images from ECR ("+rules.Some(from)+"), and the kubelet of 1.27 has no credentials for ECR", "configure the credential provider ecr-credential-provider in the kubelets before the upgrade")
			}
		}, Lacks: seen(observed.Nodes)},
	// It takes nodes of which none has the condition for ones that were not
	// asked for it: the API server shows it for every node, and an earlier dump for none.
	{Rule: transform.Rule{ID: idNodeNotReady, Severity: transform.Error, Guards: always,
		Doc: "The condition Ready of a Node is not True, and the Node is a control plane or was ready in the snapshot. A warning for any other Node."}.Because(
		"A control plane that is down makes the next restart an outage.", "kubernetes docs: node status", "Repair the node first.", "If the node is known to be lost and etcd has its quorum without it."),
		Check: func(j *evaluation, found *transform.Findings) {
			if !slices.ContainsFunc(j.Nodes, func(n observed.Node) bool { return n.Ready != nil }) {
				return
			}
			for _, n := range j.Nodes {
				if n.IsReady() {
					continue
				}
				f := found.On(nodePath(n.Name), notReady(n), "check its kubelet and its machine: "+action.Command("kubectl describe node %--%s", n.Name))
				switch {
				case n.ControlPlane():
					f.Fix += "; no stage starts while a control plane is NotReady, unless with --accept " + idNodeNotReady
				case j.readyBefore(n.Name):
					f.Fix += "; it was Ready in the snapshot; if the migration is not the cause, use --accept " + idNodeNotReady
				default:
					f.Severity = transform.Warning
				}
			}
		}, Lacks: conditions},
	// It takes a cluster without nodes for one that was not seen.
	{Rule: transform.Rule{ID: "provider-id-missing", Severity: transform.Error, Guards: always,
		Doc: "A Node has no provider ID."}.Because(
		"Without an ID the manager finds the instance only by the private DNS name, and later releases do not.", aws.Source, "Run the stage set-provider-ids, or add the taint for uninitialized nodes once a cloud-controller-manager runs.", "For machines that are not in AWS."),
		Check: func(j *evaluation, found *transform.Findings) {
			if len(j.Nodes) == 0 && j.Saw(observed.Nodes) {
				found.On("nodes", "no node exists", "check whether this is the intended cluster")
				return
			}
			for _, n := range j.Nodes {
				if n.ProviderID == "" {
					found.On(nodePath(n.Name), "the node has no provider ID", j.initialize(n))
				}
			}
			j.unlessLater(*found)
		}, Lacks: seen(observed.Nodes), Needed: ofStages(externally)},
	{Rule: transform.Rule{ID: "provider-id-foreign", Severity: transform.Error, Guards: always,
		Doc: "A provider ID is not one of AWS, such as rke2:// of RKE2's own stub."}.Because(
		"The manager cannot find the instance; it neither updates nor removes the Node. The ID cannot be changed.", "k3s-io/k3s pkg/cloudprovider; "+aws.Source, "Replace the machine. If it is no etcd member, you can also delete the Node and let it register again.", "For machines that are not in AWS."),
		Check: func(j *evaluation, found *transform.Findings) {
			for _, n := range j.Nodes {
				switch scheme, isID := aws.Scheme(n.ProviderID); {
				case !isID || strings.EqualFold(scheme, aws.Name):
				case strings.Contains(j.Observation.Version, "+"+scheme): // as a distribution names its releases
					found.On(nodePath(n.Name), "the stub cloud controller of "+strings.ToUpper(scheme)+" initialized the node, and a provider ID never changes",
						"set disable-cloud-controller: true, then "+registerAgain(n))
				default:
					found.On(nodePath(n.Name), "the provider ID is one of "+scheme, "after aws has become the only provider of its machine, "+registerAgain(n))
				}
			}
			j.unlessLater(*found)
		}, Lacks: seen(observed.Nodes)},
	{Rule: transform.Rule{ID: "provider-id-malformed", Severity: transform.Error, Guards: always,
		Doc: "A provider ID is not of the form " + aws.IDForm + ", or its instance ID is not one of EC2."}.Because(
		"The manager cannot read the ID, and treats the Node as one of another provider.", aws.Source, "Replace the machine. If it is no etcd member, you can also delete the Node and let it register again.", "For machines that are not in AWS."),
		Check: func(j *evaluation, found *transform.Findings) {
			for _, n := range j.Nodes {
				if why := aws.Malformed(n.ProviderID); why != "" {
					found.On(nodePath(n.Name), fmt.Sprintf("the provider ID %q %s", n.ProviderID, why), "it must be "+aws.IDForm+"; "+registerAgain(n))
				}
			}
		}, Lacks: seen(observed.Nodes)},
	{Rule: transform.Rule{ID: "provider-id-duplicate", Severity: transform.Error, Guards: always,
		Doc: "Two Nodes have the same instance."}.Because(
		"One of the two Nodes is a copy: the removal of its instance removes both.", aws.Source, "Delete the Node that has no kubelet. If it is an etcd member, replace its machine instead.", "If one of the two is being removed."),
		Check: func(j *evaluation, found *transform.Findings) {
			first := map[string]observed.Node{}
			for _, n := range j.Nodes {
				id, ok := aws.ParseProviderID(n.ProviderID)
				if !ok {
					continue
				}
				other, again := first[id.Instance]
				if !again {
					first[id.Instance] = n
					continue
				}
				fix := "delete the Node whose kubelet no longer runs; it is usually the one that is NotReady"
				if n.Etcd() || other.Etcd() {
					fix = "find the Node whose kubelet no longer runs; it is usually the one that is NotReady; if it is an etcd member, " + replaceMember
				}
				found.On(nodePath(n.Name), "the node "+other.Name+" has the same instance "+id.Instance, fix)
			}
		}, Lacks: seen(observed.Nodes)},
	{Rule: transform.Rule{ID: "provider-id-zone-mismatch", Severity: transform.Error, Guards: always,
		Doc: "The zone in a provider ID is not that of the Node's label."}.Because(
		"Volumes of the zone in the label are not attached in the zone of the instance.", aws.Source, "Correct the label, or replace the machine.", "If the label is set on purpose."),
		Check: func(j *evaluation, found *transform.Findings) {
			for _, n := range j.Nodes {
				id, ok := aws.ParseProviderID(n.ProviderID)
				if label := n.Zone(); ok && id.Zone != "" && label != "" && id.Zone != label {
					found.On(nodePath(n.Name), fmt.Sprintf("the zone of the provider ID is %s, that of the label %s is %s", id.Zone, observed.ZoneLabel, label), "compare with the instance in AWS, and correct the label")
				}
			}
		}, Lacks: seen(observed.Nodes)},
	// It requires the driver on every node: an external
	// kube-controller-manager attaches no in-tree volume.
	{Rule: transform.Rule{ID: "in-tree-volumes", Severity: transform.Error, Guards: always,
		Doc: "EBS volumes or storage classes are in-tree, and a node has no EBS CSI driver: no component attaches them after the switch."}.Because(
		"After the switch no component attaches in-tree EBS volumes, except the CSI driver on the node.", "kubernetes docs: CSI migration", "Install the AWS EBS CSI driver on every node.", "If the volumes are not used any more."),
		Check: func(j *evaluation, found *transform.Findings) {
			uses := j.volumeUses()
			if len(uses) == 0 {
				return
			}
			if !j.Saw(observed.Nodes) || !j.Saw(observed.CSINodes) {
				found.On("storage", "EBS volumes are in-tree ("+rules.Some(uses)+"), and the dump does not show which nodes have the EBS CSI driver", "add nodes and csinodes to the dump, or check the cluster itself").Severity = transform.Note
				return
			}
			if without := j.withoutDriver(); len(without) > 0 || len(j.Nodes) == 0 {
				missing := "these nodes have no EBS CSI driver: " + rules.Some(without)
				if len(without) == len(j.Nodes) {
					missing = "no node has the EBS CSI driver"
				}
				found.On("storage", fmt.Sprintf("EBS volumes are in-tree (%s), and %s", rules.Some(uses), missing), "install the EBS CSI driver on every node before the switch; see the guide on volumes")
			}
		}, Lacks: seen(observed.Nodes, observed.Volumes, observed.StorageClasses, observed.CSINodes)},
}

// initialize is how a Node gets what its initialization writes. Only a cloud-controller-manager
// removes the taint, so that it is never added before one runs.
func (j *evaluation) initialize(n observed.Node) string {
	if len(j.cloud()) == 0 {
		return "first install the cloud-controller-manager: without one nothing initializes the Node, and none was seen; rke-lm plan shows the stage that is next"
	}
	return "make the cloud-controller-manager initialize the Node again: " + action.Command("kubectl taint node %--%s %s=true:NoSchedule", n.Name, observed.Uninitialized)
}

// nodesBefore are the nodes of the snapshot by their names, and their names by their instances.
func (j *evaluation) nodesBefore() (map[string]observed.NodeIdentity, map[string]string) {
	names, instances := map[string]observed.NodeIdentity{}, map[string]string{}
	if j.Before != nil {
		for _, n := range j.Before.Nodes {
			names[n.Name] = n
			if id, ok := aws.ParseProviderID(n.ProviderID); ok {
				instances[id.Instance] = n.Name
			}
		}
	}
	return names, instances
}

// idNodeNotReady is the rule that finds nodes that are not ready.
const idNodeNotReady = "node-not-ready"

// readyBefore reports whether a node was ready in the snapshot.
func (j *evaluation) readyBefore(name string) bool {
	return j.Before != nil && slices.ContainsFunc(j.Before.Nodes, func(n observed.NodeIdentity) bool { return n.Name == name && n.Ready })
}

// notReady says in words what a node says of itself.
func notReady(n observed.Node) string {
	what := "the node"
	if n.ControlPlane() {
		what = "the control plane"
	}
	if n.Ready == nil {
		return what + " has no condition Ready: its kubelet has not reported a status yet"
	}
	text := what + " is NotReady: its condition Ready is " + n.Ready.Status
	if n.Ready.Status == "Unknown" {
		text = what + " is NotReady: its kubelet stopped reporting its status"
	}
	if n.Ready.Reason != "" {
		text += " (" + n.Ready.Reason + ")"
	}
	if !n.Ready.Since.IsZero() {
		text += " since " + n.Ready.Since.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	return text
}

// unlessLater makes findings about Nodes without a provider ID of AWS warnings, as long as
// the stage that sets it is still to come.
func (j *evaluation) unlessLater(found transform.Findings) {
	for i := range found {
		if j.Check.ProviderIDsPending {
			found[i].Severity = transform.Warning
		}
	}
}

// registerAgain is how a machine gets a Node with another provider ID, which never changes. RKE2
// removes the etcd member whose Node is deleted (k3s-io/k3s pkg/etcd/member_controller.go).
func registerAgain(n observed.Node) string {
	if n.Etcd() {
		return replaceMember
	}
	return "delete the Node and make its machine register again"
}

const replaceMember = "replace its machine, one etcd member at a time; do not delete the Node, because the member is removed with it"

func (j *evaluation) volumeUses() []string {
	uses := lists.Map(j.Volumes, func(v observed.Volume) string { return v.Kind + " " + v.Name })
	uses = append(uses, lists.Map(j.StorageClasses, func(c string) string { return "StorageClass " + c })...)
	for _, n := range j.Nodes {
		if n.InTreeVolumes > 0 {
			uses = append(uses, fmt.Sprintf("%d on %s", n.InTreeVolumes, n.Name))
		}
	}
	return uses
}

// withoutDriver names the nodes that are not seen to have the driver.
func (j *evaluation) withoutDriver() []string {
	has := map[string]bool{}
	for _, d := range j.Drivers {
		has[d.Node] = slices.Contains(d.Drivers, aws.CSIDriver)
	}
	names := lists.Map(j.Nodes, func(n observed.Node) string { return n.Name })
	return slices.DeleteFunc(names, func(name string) bool { return has[name] })
}
