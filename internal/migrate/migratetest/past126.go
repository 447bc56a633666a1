// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"cmp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

const (
	past126 = "v1.31.4+rke2r1"
	last    = 3 // the number of the machine that joined since

	lastMachine = "orchard-servers-3"
)

// NewRKE2Past126 makes a world with a cluster of RKE2 1.31, where aws only names nodes and
// nothing runs cloud controllers. Of its Nodes the last one joined since, as with leaves it.
func NewRKE2Past126(t testing.TB, with func(*corev1.Node)) *World {
	t.Helper()
	w := NewRKE2(t)
	w.API.Do(func() {
		w.API.Version = past126
		joined := Registered(last)
		joined.Spec.ProviderID, joined.Labels = "", nil
		with(&joined)
		w.API.Nodes = append(w.API.Nodes, joined)
	})
	w.past126 = true
	w.Rancher.Put(t, strings.Replace(RKE2Object, "v1.26.15+rke2r1", past126, 1))
	w.Follow()
	return w
}

// linked is the Machine as Rancher has it. For the Node of the machine that joined last it takes the provider ID
// once, and looks for the Node by that ID from then on.
func (w *World) linked(m ranchertest.Machine, i int) map[string]any {
	o := m.Object()
	if i < last {
		ranchertest.Link(o, Registered(i).Spec.ProviderID, apitest.NodeName(i))
		return o
	}
	node := w.lastNode()
	if id, is := w.providerIDOfMachine(); is {
		w.lastID = id
	}
	w.lastID, w.lastName = cmp.Or(w.lastID, node.Spec.ProviderID), cmp.Or(node.Name, w.lastName)
	if w.lastID != "" {
		status := ranchertest.StatusOf(o)
		status["nodeRef"] = map[string]any{"name": w.lastName}
		status["addresses"] = []any{map[string]any{"type": "InternalIP", "address": "10.0.0.4"}}
	}
	found := ""
	if len(w.unlinked()) == 0 {
		found = node.Name
	}
	ranchertest.Link(o, w.lastID, found)
	return o
}

// lastNode is the Node of that machine, empty without one.
func (w *World) lastNode() (node corev1.Node) {
	w.API.Do(func() {
		if len(w.API.Nodes) > last {
			node = w.API.Nodes[last]
		}
	})
	return node
}

// unlinked are the Machines whose Nodes Rancher does not find.
func (w *World) unlinked() []string {
	if w.machines() == last || w.lastID != "" && w.lastID == w.lastNode().Spec.ProviderID {
		return nil
	}
	return []string{lastMachine}
}

// link lets Rancher look for that Node again. Until it finds it, its specification is not the applied one.
func (w *World) link() {
	w.put(w.linked(w.machine(last), last))
	w.put(w.controlPlane())
}

// Notice lets Rancher look at the Nodes again.
func (w *World) Notice() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.past126 && !w.replaced {
		w.link()
	}
}

// Relink gives the last machine the provider ID of its Node, as a person does.
func (w *World) Relink() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastID = ""
	w.link()
}
