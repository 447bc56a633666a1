// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observed

import "time"

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
