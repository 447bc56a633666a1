// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

// link brings Machines and nodes together by provider IDs, as Rancher and Cluster API do, and returns the
// Machines that are not ready. The object of a machine's infrastructure gets the ID of the node that is marked
// with the Machine, once, when the node is ready and has one (rancher pkg/controllers/capr/machinenodelookup).
// Until then the machine is not ready (rancher pkg/controllers/capr/machineprovision).
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
		var node string
		if i := slices.IndexFunc(nodes.Items, func(n corev1.Node) bool { return id != "" && n.Spec.ProviderID == id }); i >= 0 {
			node = nodes.Items[i].Name
		} else {
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
		if n.Labels[ranchertest.MachineLabel] == m.UID && n.Spec.ProviderID != "" && isReady(n) {
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

// linked writes what a Machine shows of its node; its status is written by itself.
func (r *provisioning) linked(ctx context.Context, m Machine, id, node string) error {
	link := func(o map[string]any) { ranchertest.Link(o, id, node) }
	if err := r.change(ctx, machines, Namespace, m.Name, link); err != nil {
		return err
	}
	return r.change(ctx, machines, Namespace, m.Name, link, "status")
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

// notLinked are the Machines without nodes.
func (d *Downstream) notLinked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unready
}
