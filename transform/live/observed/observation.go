// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package observed holds what was seen of a live cluster: plain structs, which
// are also the dump that a person can read and hand on.
//
// Invariant: an Observation holds what a decision needs and nothing else: no
// environment, no data of a Secret, no argument that looks like one. What could
// not be determined is said to be unknown and never left out silently.
package observed

import (
	"cmp"
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// APIVersion and Kind are at the top of a dump.
const APIVersion, Kind = "rke-lm/v1", "Observation"

// Observation is what was read of a cluster at one time.
type Observation struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Seen is when the observation ended, by the clock of the machine that observed.
	Seen    time.Time `json:"seen"`
	Version string    `json:"version,omitempty"` // of the API server
	// Clock is the newest time that the API server itself wrote into what was read: no
	// later than now by its own clock. Holders renew leases every few seconds, so on a
	// live cluster it is no more than that old.
	Clock time.Time `json:"clock,omitzero"`

	Nodes      []Node      `json:"nodes"`
	Leases     []Lease     `json:"leases"` // of kube-system
	DaemonSets []DaemonSet `json:"daemonSets"`
	Managers   []Manager   `json:"managers"`
	Services   []Service   `json:"services"` // of type LoadBalancer
	// EventsDenied means that the user may not list Events, so that no Service has a Failure.
	EventsDenied bool `json:"eventsDenied,omitempty"`

	Volumes        []Volume       `json:"volumes,omitempty"`        // in-tree ones
	StorageClasses []string       `json:"storageClasses,omitempty"` // in-tree ones
	Drivers        []NodeDrivers  `json:"drivers,omitempty"`
	Reviews        []AccessReview `json:"reviews,omitempty"`
	ControlPlanes  []ControlPlane `json:"controlPlanes,omitempty"` // on Rancher's own cluster
	MachinePlans   []MachinePlan  `json:"machinePlans,omitempty"`  // on Rancher's own cluster
	// Withheld are the rights without which Rancher's objects were not all seen.
	Withheld []string `json:"withheld,omitempty"`

	// FollowedSeconds is for how long the leases were followed after the first observation;
	// 0 for one observation.
	FollowedSeconds float64 `json:"followedSeconds,omitempty"`

	// Before is the snapshot that the cluster is compared with, if there is one.
	Before *Snapshot `json:"before,omitempty"`
	// Partial means that only the kinds that are there were looked at, as in a
	// dump of kubectl: what is absent from it says nothing.
	Partial bool `json:"partial,omitempty"`
	// KubeSystemOnly means that managers were looked for in kube-system alone.
	KubeSystemOnly bool `json:"kubeSystemOnly,omitempty"`
	// Kinds are those that a partial observation was seen to hold, also where none of
	// their objects is kept.
	Kinds []string `json:"kinds,omitempty"`
}

// The kinds whose absence says something, with their groups. Leases, DaemonSets and
// Pods are those of kube-system; KubeSystemOnly reports whether others were looked at.
const (
	Nodes          = "Node"
	Leases         = "Lease.coordination.k8s.io"
	DaemonSets     = "DaemonSet.apps"
	Pods           = "Pod"
	Services       = "Service"
	Events         = "Event"
	Volumes        = "PersistentVolume"
	StorageClasses = "StorageClass.storage.k8s.io"
	CSINodes       = "CSINode.storage.k8s.io"
)

// Saw reports whether objects of a kind were read: only then does it say something that
// an object is not there.
func (o *Observation) Saw(kind string) bool { return !o.Partial || slices.Contains(o.Kinds, kind) }

// Lease returns the lease of kube-system with a name.
func (o *Observation) Lease(name string) (Lease, bool) {
	return lists.Find(o.Leases, func(l Lease) bool { return l.Name == name })
}

// NodeDrivers are the CSI drivers that are registered on a node.
type NodeDrivers struct {
	Node    string   `json:"node"`
	Drivers []string `json:"drivers"`
}

// Volume is a use of an in-tree EBS volume.
type Volume struct {
	Kind string `json:"kind"` // PersistentVolume, or Pod for an inline volume
	Name string `json:"name"` // with its namespace, if it has one
}

// AccessReview is the answer to a SubjectAccessReview on a lease of kube-system.
type AccessReview struct {
	User    string `json:"user"`
	Verb    string `json:"verb"`
	Lease   string `json:"lease"`
	Allowed bool   `json:"allowed"`
}

// ControlPlane is the state of an RKEControlPlane.
type ControlPlane struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Observed  bool   `json:"observed"` // the last generation was seen by Rancher
	Applied   bool   `json:"applied"`  // status.appliedSpec is the spec
	// NotTrue lists the conditions among Ready and Reconciled that are not True.
	NotTrue []string `json:"notTrue,omitempty"`
}

// MachinePlan is the state of a machine's plan.
type MachinePlan struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Applied   bool   `json:"applied"` // the machine runs the plan that it was given
}

// SnapshotKind is at the top of a snapshot.
const SnapshotKind = "Snapshot"

// Snapshot is what must not change while a cluster is migrated.
type Snapshot struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Taken      time.Time `json:"taken"`
	// Reached is the last stage whose result showed on the cluster; "" for none.
	Reached       string         `json:"reached,omitempty"`
	Nodes         []NodeIdentity `json:"nodes"`
	LoadBalancers []Service      `json:"loadBalancers"`
}

// NodeIdentity is what makes a Node the same one.
type NodeIdentity struct {
	Name       string `json:"name"`
	UID        string `json:"uid"`
	ProviderID string `json:"providerID"`
	// Ready means that the Node was ready; earlier snapshots do not have it.
	Ready bool `json:"ready,omitempty"`
}

// Snapshot returns what of an observation has to stay. reached is the stage that
// shows on the cluster.
func (o *Observation) Snapshot(reached string) Snapshot {
	s := Snapshot{APIVersion: APIVersion, Kind: SnapshotKind, Taken: o.Seen, Reached: reached, Nodes: []NodeIdentity{}, LoadBalancers: []Service{}}
	for _, v := range o.Services {
		s.LoadBalancers = append(s.LoadBalancers, Service{Namespace: v.Namespace, Name: v.Name, Hosts: v.Hosts})
		if v.Stale() {
			s.LoadBalancers[len(s.LoadBalancers)-1].Asked = v.Asked
		}
	}
	for _, n := range o.Nodes {
		s.Nodes = append(s.Nodes, NodeIdentity{n.Name, n.UID, n.ProviderID, n.IsReady()})
	}
	return s
}

// Service is a Service of type LoadBalancer.
type Service struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Hosts     []string `json:"hosts"` // host names or addresses of its load balancer
	// OtherController means that another controller than those of the cloud provider serves it.
	OtherController bool `json:"elsewhere,omitempty"`
	// Deleting means that the load balancer is to be deleted, with the Service or without it.
	Deleting bool `json:"deleting,omitempty"`
	// What follows is kept of a Service for which the cloud controllers have something to do.
	UID string `json:"uid,omitempty"`
	// Asked is since when they have it to do, by the API server's clock: since the Service asked
	// for a load balancer, or for its deletion, or since its changes fail.
	Asked time.Time `json:"asked,omitzero"`
	// Failure is the last Warning Event of the service controller about it; nil where
	// there is none, or where it reports that it succeeded since.
	Failure *Failure `json:"failure,omitempty"`
}

// Failure is an Event, without secrets.
type Failure struct {
	Reason  string `json:"reason"` // one word
	Message string `json:"message"`
}

// Pending reports whether the cloud controllers owe the Service a load balancer.
func (s Service) Pending() bool { return len(s.Hosts) == 0 && !s.OtherController && !s.Deleting }

// Stale reports whether its load balancer is not as the Service asks for: it is still there, or
// changes of it fail.
func (s Service) Stale() bool { return !s.Pending() && !s.OtherController && !s.Asked.IsZero() }

// For returns for how long they have had it to do at least, by the API server's clock,
// which wrote both times.
func (s Service) For(clock time.Time) time.Duration {
	if s.Asked.IsZero() || clock.IsZero() {
		return 0
	}
	return max(0, clock.Sub(s.Asked))
}

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
	Registries    []string `json:"ecrImages,omitempty"` // registries of ECR that its images are from
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

// OfProvider reports whether the node has a provider ID of AWS.
func (n Node) OfProvider() bool { return aws.IsProviderID(n.ProviderID) }

// Etcd reports whether the node is an etcd member.
func (n Node) Etcd() bool { _, is := n.Labels[EtcdLabel]; return is }

// Tainted reports whether the node has a taint.
func (n Node) Tainted(key string) bool { return slices.Contains(n.Taints, key) }

// Zone returns the availability zone that the labels state, or "".
func (n Node) Zone() string { return cmp.Or(n.Labels[ZoneLabel], n.Labels[OldZoneLabel]) }
