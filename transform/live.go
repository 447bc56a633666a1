// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Live is what distinguishes the live clusters of a format from those of others.
type Live struct {
	// Kind is that of the objects by which Rancher describes the clusters; zero where it
	// describes none.
	Kind ObjectKind
	// Snapshot is how a snapshot of etcd is requested from Rancher; nil where Rancher
	// describes no clusters.
	Snapshot any // a SnapshotByCluster or a SnapshotByObject
	// Machines reads what the machines of a cluster are given, migratable or not, off
	// the cluster's object; nil where Rancher gives no machine a plan of its own.
	Machines func(*yamledit.Document, Target) (MachineConfig, error)
	// ByMachines reports whether the object alone does not show the machine classes of its
	// cluster, so that Open needs Target.Machines; nil where it always does.
	ByMachines func(*yamledit.Document) bool
	// Roles are those of a machine with some labels; nil where Rancher shows no machines.
	Roles func(labels map[string]string) Roles
	// Restart returns the command that restarts the kubelet of a machine, on a server or on
	// an agent; see RestartKubelet.
	Restart func(server bool) string
	// Shows reports whether a cluster looks like one of the format, where no object
	// says it.
	Shows func(Traits) bool
}

// ObjectKind is a kind of objects by which a Rancher describes clusters; each is a
// Cluster.
type ObjectKind struct {
	Group, Version string
	Namespaced     bool // without, the name of an object is the ID of its cluster
	// Planned means that Rancher gives each machine a plan of its own, and shows machines
	// as objects of Cluster API. Without, RKE applies the object as a whole.
	Planned bool
}

// The kinds that there are: of provisioned clusters, and of those that RKE makes.
var (
	Provisioning = ObjectKind{Group: action.ProvisioningGroup, Version: "v1", Namespaced: true, Planned: true}
	Management   = ObjectKind{Group: action.ManagementGroup, Version: "v3"}
)

// APIVersion is that of the objects.
func (k ObjectKind) APIVersion() string { return k.Group + "/" + k.Version }

// SnapshotByCluster returns the cluster's object that asks for one more snapshot, and
// the number of it.
type SnapshotByCluster func(*yamledit.Document) (after *yamledit.Document, number int64, err error)

// SnapshotByObject is a snapshot that an object of its own asks for.
type SnapshotByObject struct {
	Kind string
	// Make returns the object as JSON, and Taken what it waits for: "" once the snapshot
	// is there. object is the cluster's, id and uid are those of the cluster.
	Make  func(object []byte, id, uid, name string) ([]byte, error)
	Taken func(object []byte) (waiting string, err error)
}

// MachineConfig returns the configuration that a machine with some labels is given, by
// key: strings, booleans and lists, as decoded JSON.
type MachineConfig func(labels map[string]string) map[string]any

// MachineConfig is what Machines returns; without it machines are given nothing by their labels.
func (l Live) MachineConfig(doc *yamledit.Document, t Target) (MachineConfig, error) {
	if l.Machines == nil {
		return func(map[string]string) map[string]any { return nil }, nil
	}
	return l.Machines(doc, t)
}

// RestartKubelet is the Restart of a format whose kubelet is a service of its own.
func RestartKubelet(bool) string { return "systemctl restart kubelet" }

// Roles are what a machine runs in addition to the kubelet.
type Roles struct{ ControlPlane, Etcd, Worker bool }

// Traits are what distinguishes the formats of clusters.
type Traits struct {
	Version string // of the API server
	// ManagerPods means that the kube-controller-managers are pods.
	ManagerPods bool
	NodeLabel   func(key string) bool // whether any Node has it
}
