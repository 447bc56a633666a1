// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
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

// link is how Rancher finds the Node of the machine that joined last: it takes the provider ID
// of the Node once, and looks for the Node by that ID from then on. Until it finds the Node,
// its specification is not the applied one.
func (w *World) link() {
	var node corev1.Node
	w.API.Do(func() {
		if len(w.API.Nodes) > last {
			node = w.API.Nodes[last]
		}
	})
	if id, is := w.providerIDOfMachine(); is {
		w.lastID = id
	}
	if w.lastID == "" {
		w.lastID = node.Spec.ProviderID
	}
	if node.Name != "" {
		w.lastName = node.Name
	}
	name, status := lastMachine, map[string]any{}
	if w.lastID != "" {
		status["nodeRef"] = map[string]any{"name": w.lastName}
		status["addresses"] = []any{map[string]any{"type": "InternalIP", "address": "10.0.0.4"}}
	}
	found := w.lastID != "" && w.lastID == node.Spec.ProviderID
	if !found {
		status["conditions"] = []any{map[string]any{"type": "NodeHealthy", "status": "False", "reason": "NodeNotFound"}}
	}
	w.put(map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": map[string]any{"name": name, "namespace": "fleet-default", "labels": w.labelsOf(name)},
		"spec": map[string]any{
			"bootstrap": map[string]any{"configRef": map[string]any{"kind": "RKEBootstrap", "name": name}}, "providerID": w.lastID,
			"infrastructureRef": map[string]any{"apiVersion": "rke-machine.cattle.io/v1", "kind": "Amazonec2Machine", "name": name},
		},
		"status": status,
	})
	var object struct{ Spec map[string]any }
	if err := json.Unmarshal([]byte(w.Rancher.Object(RKE2Path)), &object); err != nil {
		panic(err)
	}
	cp := w.controlPlane(object.Spec)
	if !found {
		waiting := map[string]any{"type": "Ready", "status": "Unknown", "message": "non-ready worker machine(s) " + name + ": waiting for node ref"}
		cp["status"].(map[string]any)["appliedSpec"] = map[string]any{"kubernetesVersion": past126}
		cp["status"].(map[string]any)["conditions"] = []any{waiting, map[string]any{"type": "Reconciled", "status": "Unknown"}}
	}
	w.put(cp)
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
