// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// infrastructure is the path of the object of the last machine, from which Cluster API has its
// provider ID.
const infrastructure = "/apis/rke-machine.cattle.io/v1/namespaces/fleet-default/amazonec2machines/orchard-servers-3"

// Infrastructure gives Rancher that object.
func (w *World) Infrastructure(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	id := w.lastID
	w.mu.Unlock()
	w.Rancher.Put(t, `{"apiVersion":"rke-machine.cattle.io/v1","kind":"Amazonec2Machine","metadata":{"name":"orchard-servers-3","namespace":"fleet-default"},"spec":{"providerID":"`+id+`"}}`)
}

// providerIDOfMachine reads it off there, if the object is there.
func (w *World) providerIDOfMachine() (id string, found bool) {
	text := w.Rancher.Object(infrastructure)
	if text == "" {
		return "", false
	}
	var o struct {
		Spec struct {
			ProviderID string `json:"providerID"`
		} `json:"spec"`
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	return o.Spec.ProviderID, true
}

// Budget has a PodDisruptionBudget refuse so many evictions.
func (w *World) Budget(refused int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.budget = refused
}

// Run gives the last machine a pod, with the kind of its controller; "" for none.
func (w *World) Run(name, controller string) {
	w.API.Do(func() {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: w.API.Nodes[last].Name}}
		if controller != "" {
			yes := true
			p.OwnerReferences = []metav1.OwnerReference{{Kind: controller, Name: name, Controller: &yes}}
		}
		w.API.Pods = append(w.API.Pods, p)
	})
}

// evict removes a pod, as a controller does that makes it again elsewhere.
func (w *World) evict(rw http.ResponseWriter, r *http.Request) {
	var e policyv1.Eviction
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.budget--
	refused := w.budget >= 0
	w.mu.Unlock()
	if refused {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusTooManyRequests)
		rw.Write([]byte(`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"TooManyRequests","message":"Cannot evict pod as it would violate the pod's disruption budget.","code":429}`))
		return
	}
	w.API.Do(func() {
		w.API.Pods = slices.DeleteFunc(w.API.Pods, func(p corev1.Pod) bool { return p.Namespace == e.Namespace && p.Name == e.Name })
	})
	rw.WriteHeader(http.StatusCreated)
	rw.Write([]byte(`{"apiVersion":"v1","kind":"Status","status":"Success"}`))
}

// deleteNode deletes the Node with the UID of the request.
func (w *World) deleteNode(rw http.ResponseWriter, r *http.Request, name string) {
	var o metav1.DeleteOptions
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil || o.Preconditions == nil || o.Preconditions.UID == nil {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	w.API.Do(func() {
		i := slices.IndexFunc(w.API.Nodes, func(n corev1.Node) bool { return n.Name == name })
		switch {
		case i < 0:
			rw.WriteHeader(http.StatusNotFound)
		case w.API.Nodes[i].UID != *o.Preconditions.UID:
			rw.WriteHeader(http.StatusConflict)
		default:
			w.API.Nodes = slices.Delete(w.API.Nodes, i, i+1)
			rw.Write([]byte(`{"apiVersion":"v1","kind":"Status","status":"Success"}`))
		}
	})
}

// Register has the last machine register its Node, as its kubelet does when it restarts, and the
// cloud-controller-manager initialize it.
func (w *World) Register(name, address string) {
	w.API.Do(func() {
		if slices.ContainsFunc(w.API.Nodes, func(n corev1.Node) bool { return n.Name == name }) {
			return
		}
		fresh := Registered(last)
		fresh.Name, fresh.UID, fresh.ResourceVersion = name, "another", "1"
		fresh.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
		w.API.Nodes = append(w.API.Nodes, fresh)
	})
	w.Notice()
}

// Replace has Rancher delete the last machine, whose Node is gone.
func (w *World) Replace() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replaced = true
	w.Rancher.Remove("/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet-default/machines/" + lastMachine)
}

// Has reports whether a write came to a path that ends so.
func (w *World) Has(write string) bool {
	return slices.ContainsFunc(w.Writes(), func(line string) bool { return strings.HasSuffix(line, write) })
}
