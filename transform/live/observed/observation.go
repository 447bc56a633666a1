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
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/transform/lists"
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
