// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"cmp"
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// Labels and taints of nodes that decisions look at (k8s.io/api/core/v1,
// k8s.io/cloud-provider/api).
const (
	ZoneLabel         = "topology.kubernetes.io/zone"
	OldZoneLabel      = "failure-domain.beta.kubernetes.io/zone"
	RegionLabel       = "topology.kubernetes.io/region"
	InstanceTypeLabel = "node.kubernetes.io/instance-type"
	EtcdLabel         = "node-role.kubernetes.io/etcd"
	HostLabel         = "kubernetes.io/hostname"
	Uninitialized     = "node.cloudprovider.kubernetes.io/uninitialized"
)

// ControlPlaneLabels mark control planes; RKE1 writes the one without a hyphen.
var ControlPlaneLabels = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/controlplane", "node-role.kubernetes.io/master"}

// Node is a Node, without what no decision needs.
type Node struct {
	Name       string            `json:"name"`
	UID        string            `json:"uid"`
	ProviderID string            `json:"providerID"`
	Labels     map[string]string `json:"labels,omitempty"`  // those that are named above
	Taints     []string          `json:"taints,omitempty"`  // keys
	Address    string            `json:"address,omitempty"` // the InternalIP that its kubelet reports
	// NodeName is the node-name of an RKE2 machine, which --cloud-provider-name aws may hide.
	NodeName      string `json:"nodeName,omitempty"`
	Unschedulable bool   `json:"unschedulable,omitempty"`
	Cordoned      string `json:"cordoned,omitempty"` // the run of rke-lm that cordoned it
	// Ready is the condition of that name; nil where the node has none.
	Ready *Condition `json:"ready,omitempty"`
	// InTreeVolumes counts the EBS volumes that the in-tree plugin has attached
	// or that are in use by its name.
	InTreeVolumes int      `json:"inTreeVolumes,omitempty"`
	ECRImages     []string `json:"ecrImages,omitempty"` // registries of ECR that its images are from
}

// Condition is one of a node, without its message: that may quote anything.
type Condition struct {
	Status string    `json:"status"`           // True, False or Unknown
	Reason string    `json:"reason,omitempty"` // one word
	Since  time.Time `json:"since,omitzero"`   // by the cluster's clock, so for people only
}

// HostNames completes what is known of the names by which machines register if no cloud provider names them. HostLabel is
// kept where it is the kubelet's, not the Node's name.
func (o *Observation) HostNames(read transform.HostNames) transform.HostNames {
	of := transform.HostNames{}
	for _, n := range o.Nodes {
		of[n.Name] = cmp.Or(n.NodeName, read[n.Name], n.Labels[HostLabel])
	}
	if len(of.Changes()) == 0 && !of.Equal() {
		return read // some Nodes that keep their names say nothing of the others
	}
	return of
}

// IsReady reports whether the node says that it is.
func (n Node) IsReady() bool { return n.Ready != nil && n.Ready.Status == "True" }

// ControlPlane reports whether the node is a control plane.
func (n Node) ControlPlane() bool {
	return slices.ContainsFunc(ControlPlaneLabels, func(l string) bool { _, is := n.Labels[l]; return is })
}

// IsAWS reports whether the node has a provider ID of AWS.
func (n Node) IsAWS() bool { return aws.IsProviderID(n.ProviderID) }

// Etcd reports whether the node is an etcd member.
func (n Node) Etcd() bool { _, is := n.Labels[EtcdLabel]; return is }

// Tainted reports whether the node has a taint.
func (n Node) Tainted(key string) bool { return slices.Contains(n.Taints, key) }

// Zone returns the availability zone that the labels state, or "".
func (n Node) Zone() string { return cmp.Or(n.Labels[ZoneLabel], n.Labels[OldZoneLabel]) }
