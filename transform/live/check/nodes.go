// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
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

// nodeUninitialized also looks for the labels that the initialisation writes;
// Fargate's nodes have no instance type.
func (j *evaluation) nodeUninitialized(found *transform.Findings) {
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
}

// initialize is how a Node gets what its initialization writes. Only a cloud-controller-manager
// removes the taint, so that it is never added before one runs.
func (j *evaluation) initialize(n observed.Node) string {
	if len(j.cloud()) == 0 {
		return "first install the cloud-controller-manager: without one nothing initializes the Node, and none was seen; rke-lm plan shows the stage that is next"
	}
	return "make the cloud-controller-manager initialize the Node again: " + action.Command("kubectl taint node %--%s %s=true:NoSchedule", n.Name, observed.Uninitialized)
}

// nodeRenamed compares the nodes with the snapshot: the same name with another
// UID or provider ID, and the same instance under another name.
func (j *evaluation) nodeRenamed(found *transform.Findings) {
	names, instances := j.nodesBefore()
	for _, n := range j.Nodes {
		const fix = "undo the switch, and set the host name of the machine to the name of its Node; see the guide on node names"
		was, known := names[n.Name]
		id, _ := aws.ParseProviderID(n.ProviderID)
		other := instances[id.Instance]
		_, ofAWS := aws.ParseProviderID(was.ProviderID)
		switch path := nodePath(n.Name); {
		case known && was.ProviderID != "" && !ofAWS && id.Instance != "": // set-provider-ids registered it again
		case !known && other != "":
			found.On(path, "the instance "+id.Instance+" was the node "+other+" before", fix)
		case known && was.UID != n.UID:
			found.On(path, "the node registered as a new Node: its UID changed", "check what it lost with the old Node: labels, taints, the cordon")
		case known && was.ProviderID != n.ProviderID && was.ProviderID != "":
			found.On(path, "the provider ID was "+was.ProviderID+" before", "find the instance of the node, and who replaced it")
		}
	}
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

// nodeNameHidden finds machines that would register under a name of their own with an external provider.
func (j *evaluation) nodeNameHidden(found *transform.Findings) {
	for _, n := range j.Nodes {
		if n.NodeName != "" && n.NodeName != n.Name {
			found.On(nodePath(n.Name), "its machine has the node-name "+n.NodeName+", which cloud-provider-name: aws overwrites on "+j.Observation.Version+"; with external it registers as a new Node of that name",
				"plan --end-state aws-override keeps the name of the Node; or remove node-name on the machine and set its host name to the name of the Node")
		}
	}
}

// nodeNew finds nodes that the snapshot knows neither by name nor by instance.
func (j *evaluation) nodeNew(found *transform.Findings) {
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
}

func (j *evaluation) cordonLeft(found *transform.Findings) {
	for _, n := range j.Nodes {
		if n.Cordoned != "" && n.Unschedulable {
			found.On(nodePath(n.Name), "rke-lm cordoned the node for "+n.Cordoned+", and it is still cordoned",
				action.Command("kubectl uncordon %--%s && kubectl annotate node/%s %s-", n.Name, n.Name, action.CordonAnnotation))
		}
	}
}

// ecrCredentials depends on the images that the nodes have.
func (j *evaluation) ecrCredentials(found *transform.Findings) {
	if !k8s.From(j.Choice.Version, aws.FirstWithout) {
		return
	}
	from := lists.Flat(j.Nodes, func(n observed.Node) []string { return n.ECRImages })
	slices.Sort(from)
	if from = slices.Compact(from); len(from) > 0 {
		found.On("nodes", "pods use images from ECR ("+rules.Some(from)+"), and the kubelet of 1.27 has no credentials for ECR", "configure the credential provider ecr-credential-provider in the kubelets before the upgrade")
	}
}
