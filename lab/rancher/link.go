// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// link brings Machines and nodes together by provider IDs, as Rancher and Cluster API do, and returns the
// Machines that are not ready. The object of a machine's infrastructure gets the ID of the node that is marked
// with the Machine, once, when the node is ready and has one (rancher pkg/controllers/capr/machinenodelookup).
// Until then the machine is not ready (rancher pkg/controllers/capr/machineprovision). The Machine copies the
// ID, and looks for its node by that ID alone (cluster-api internal/controllers/machine).
func (r *provisioning) link(ctx context.Context) (waiting []string, err error) {
	nodes, err := r.Downstream.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, m := range r.Machines {
		id, err := r.providerID(ctx, m, nodes.Items)
		if err != nil {
			return nil, err
		}
		var node *corev1.Node
		if i := slices.IndexFunc(nodes.Items, func(n corev1.Node) bool { return id != "" && n.Spec.ProviderID == id }); i >= 0 {
			node = &nodes.Items[i]
		}
		if node == nil {
			waiting = append(waiting, m.Name)
		}
		if err := r.linked(ctx, m, id, node); err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// providerID returns the ID that Rancher has of a machine, "" before it has one.
func (r *provisioning) providerID(ctx context.Context, m Machine, nodes []corev1.Node) (string, error) {
	object, err := r.dynamic.Resource(infrastructures).Namespace(Namespace).Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	id, _, err := unstructured.NestedString(object.Object, "spec", "providerID")
	if id != "" || err != nil {
		return id, err
	}
	for _, n := range nodes {
		if n.Labels[machineLabel] == m.uid && n.Spec.ProviderID != "" && isReady(n) {
			id = n.Spec.ProviderID
		}
	}
	if id == "" {
		return "", nil
	}
	return id, r.change(ctx, infrastructures, Namespace, m.Name, func(o map[string]any) { o["spec"] = map[string]any{"providerID": id} })
}

func isReady(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// linked writes what a Machine says of its node. It forgets the name of none.
func (r *provisioning) linked(ctx context.Context, m Machine, id string, node *corev1.Node) error {
	err := r.change(ctx, machines, Namespace, m.Name, func(o map[string]any) {
		if spec := o["spec"].(map[string]any); id != "" {
			spec["providerID"] = id
		}
	})
	if err != nil {
		return err
	}
	return r.change(ctx, machines, Namespace, m.Name, func(o map[string]any) {
		status := statusOf(o)
		found, provisioned, why := "False", "False", "WaitingForNodeRef"
		status["phase"] = "Provisioning"
		if id != "" {
			provisioned, why, status["phase"] = "True", "NodeNotFound", "Running"
		}
		if node != nil {
			found, why = "True", ""
			status["nodeRef"] = map[string]any{"apiVersion": "v1", "kind": "Node", "name": node.Name}
		}
		condition(status, "InfrastructureReady", provisioned, "")
		condition(status, "NodeHealthy", found, "", why)
		condition(status, "Ready", found, "")
	}, "status")
}

// follow links every second, which is often enough for people and leaves the API servers to others.
func (r *provisioning) follow(ctx context.Context) error {
	names, err := r.link(ctx)
	if err != nil {
		return err
	}
	r.setUnready(names)
	kube.Pause(ctx, time.Second)
	return nil
}

func (d *Downstream) setUnready(names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unready = names
}

// nonReady is what the planner says of machines that are not ready, when all have their plans; "" when they are.
// The specification is not the applied one then (rancher pkg/capr/planner, reconcile).
func (d *Downstream) nonReady() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.unready) == 0 {
		return ""
	}
	return "non-ready worker machine(s) " + strings.Join(d.unready, ",") + ": waiting for node ref"
}
