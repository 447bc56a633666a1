// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Wanted is what the last change promises.
type Wanted struct {
	// Object is the cluster's object as it was written, as decoded JSON.
	Object map[string]any
	// Machine is what a machine is given, by the machine's own labels.
	Machine transform.MachineConfig
	// Nodes are the names of the Nodes that machines had before the change, by the
	// names of the machines: they must not change.
	Nodes map[string]string
	// WithoutIDs means that Nodes may have no provider ID, as from 1.27 on where no one runs the
	// cloud controllers. Rancher and Cluster API find the Node of a machine by that ID alone, and
	// wait for it when all machines have their plans (rancher pkg/controllers/capr/machinenodelookup
	// and pkg/capr/planner, reconcile at v2.8.5).
	WithoutIDs bool
	// Alike says what is the same to Rancher; nil means equality.
	Alike func(a, b any) bool
}

// alike compares parts of two clusters' specifications.
func (w Wanted) alike(a, b map[string]any) bool {
	x, y := map[string]any{"spec": a}, map[string]any{"spec": b}
	if w.Alike == nil {
		return yamledit.Same(x, y)
	}
	return w.Alike(x, y)
}

// NewWanted returns what an object promises. raw is its JSON as the server has it,
// doc as much of it as people write.
func NewWanted(d transform.Format, doc *yamledit.Document, raw []byte, t transform.Target) (w Wanted, err error) {
	w.Alike = d.Alike
	if err := decode(raw, "Cluster", &w.Object); err != nil {
		return w, err
	}
	version, _ := specOf(w.Object)["kubernetesVersion"].(string)
	w.WithoutIDs = k8s.From(version, aws.FirstWithout)
	w.Machine, err = d.Live.MachineConfig(doc, t)
	return w, err
}

// Progress is how far a change has come.
type Progress struct {
	Done     bool
	Machines []MachineProgress // by name
	Waiting  string            // what is waited for; "" when done
	Failed   string            // what does not pass by itself; "" for nothing
}

// MachineProgress is how far one machine has come.
type MachineProgress struct {
	Name    string `json:"name"`
	Node    string `json:"node"`
	Done    bool   `json:"done"`
	Waiting string `json:"waiting,omitempty"` // what it lacks; "" when done
	// Failures counts the tries of its plan that failed, and Output is the end of what
	// the last one printed, redacted. Both are zero once the plan is applied.
	Failures int    `json:"failures,omitempty"`
	Output   string `json:"output,omitempty"`
}
