// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"
)

// Objects is one look at Rancher's objects of one cluster. Either ControlPlane and
// Machines are filled, for RKE2, or Engine, for RKE.
type Objects struct {
	// ControlPlane is the RKEControlPlane; nil where there is none yet.
	ControlPlane *ControlPlane
	Machines     []Machine // by name
	// Engine is the cluster of management.cattle.io, for RKE.
	Engine *Engine
}

// Condition is one of an object's status, as Rancher declares it. Its message is for people and may
// quote anything: it is shown redacted.
type Condition = genericcondition.GenericCondition

// ControlPlane is as much of an RKEControlPlane as shows what Rancher made of the
// last change. Spec and Applied are decoded JSON, which may hold secrets.
type ControlPlane struct {
	Namespace, Name      string
	Generation, Observed int64
	Spec, Applied        map[string]any
	Conditions           map[string]Condition
	// SnapshotGeneration and SnapshotPhase are what became of the last snapshot of
	// etcd that was requested.
	SnapshotGeneration int64
	SnapshotPhase      string
}

// Machine is a Machine of Cluster API with its plan.
type Machine struct {
	Namespace, Name string

	Labels   map[string]string
	Node     string // the name of its Node; "" before Cluster API has found it
	Deleting bool
	// PlanSecret is the name of the Secret that holds its plan, in its namespace; ""
	// where Rancher does not bootstrap it.
	PlanSecret string
	Plan       *Plan // nil where no Secret holds one

	// ProviderID is the one by which Cluster API finds the Node, and Infrastructure the object
	// that it comes from. Unlinked says that no Node with that ID was found.
	ProviderID     string
	Infrastructure corev1.ObjectReference // in the namespace of the machine
	Unlinked       bool
	Address        string // the InternalIP of its Node, as Cluster API saw it last
}

// Plan is the plan that Rancher gave a machine.
type Plan struct {
	Applied bool // the machine says that it runs exactly this plan
	Init    bool // Rancher gives this machine its plan before all others
	// Failures counts the tries of this plan that failed, and GivenUp says that the
	// machine's agent makes no further one.
	Failures int
	GivenUp  bool
	// Output is the end of what the last failed try printed, redacted; "" where the
	// agent saved none of it.
	Output string
	// Unhealthy names the probes that fail.
	Unhealthy []string
	// Config is the rendered configuration of the machine (50-rancher.yaml); nil
	// where the plan holds none. It may hold secrets.
	Config map[string]any
}

// Engine is as much of a cluster of management.cattle.io as shows what RKE made of
// the last change. Spec, Applied and Failed are configurations of RKE as decoded
// JSON, nil where there is none; they may hold secrets.
type Engine struct {
	Spec, Applied, Failed map[string]any
	Conditions            map[string]Condition
}
