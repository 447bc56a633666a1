// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const engineKey = "rancherKubernetesEngineConfig"

// AddRKE1 makes a cluster of the specification in a document of management.cattle.io, and returns when RKE
// has brought all of its machines to it.
func (s *Server) AddRKE1(ctx context.Context, doc *yamledit.Document, controlPlanes, workers int) (*Downstream, error) {
	spec, _ := doc.Root().Get("spec").Value().(map[string]any)
	name, _ := spec["displayName"].(string)
	id := "c-" + ranchertest.Draw(name, 5)
	var list []Machine
	for n := range controlPlanes + workers {
		m := ranchertest.Machine{Name: "m-" + ranchertest.Draw(fmt.Sprint(name, n), 12), ControlPlane: n < controlPlanes, Etcd: n < controlPlanes, Worker: n >= controlPlanes}
		list = append(list, Machine{Machine: m, Joined: inTree})
	}
	d := &Downstream{ID: id, Name: name, Machines: list, marks: marks{"controlplane", "true", "true"}}
	if err := s.launch(ctx, d, cluster.LastInTree); err != nil {
		return nil, err
	}
	applier, err := deploy.NewApplier(d.Config(cluster.Admin))
	if err != nil {
		return nil, err
	}
	d.addons = deploy.NewAddons(applier, false)
	d.Kubelets.Start()
	if err := s.writeRKE1(ctx, d, spec); err != nil {
		return nil, err
	}
	e := &engine{Server: s, Downstream: d}
	s.reconcile(id, e.sync)
	return d, s.settled(ctx, id, func() (bool, error) { return e.isSettled(ctx) })
}

// writeRKE1 writes the objects of a new cluster. That of provisioning.cattle.io is made of the other one,
// and has no configuration.
func (s *Server) writeRKE1(ctx context.Context, d *Downstream, spec map[string]any) error {
	err := s.create(ctx, managed, "", map[string]any{
		"apiVersion": "management.cattle.io/v3", "kind": "Cluster", "metadata": map[string]any{"name": d.ID}, "spec": spec,
		"status": map[string]any{"driver": "rancherKubernetesEngine", "provider": "rke"},
	})
	if err != nil {
		return err
	}
	if err := s.create(ctx, clusters, Namespace, provisioned(d.ID, Namespace, map[string]any{})); err != nil {
		return err
	}
	err = s.change(ctx, clusters, Namespace, d.ID, func(o map[string]any) { ranchertest.StatusOf(o)["clusterName"] = d.ID }, "status")
	if err != nil {
		return err
	}
	return s.namespace(ctx, d.ID)
}

// engine is what Rancher and RKE do for one RKE cluster.
type engine struct {
	*Server
	*Downstream
}

// sync runs RKE where the object requires something else than what was applied last. A change that comes
// meanwhile has to wait for the next run.
func (e *engine) sync(ctx context.Context) error {
	if err := e.keep(ctx); err != nil {
		return err
	}
	object, err := e.dynamic.Resource(managed).Get(ctx, e.ID, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := e.backUp(ctx, object); err != nil {
		return err
	}
	spec, _ := object.Object["spec"].(map[string]any)
	config, _ := spec[engineKey].(map[string]any)
	applied, _, _ := unstructured.NestedMap(object.Object, "status", "appliedSpec", engineKey)
	delete(applied, "nodes")
	if ranchertest.Same(config, applied) {
		return nil
	}
	if err := e.writeState(ctx, "Unknown", "updating the cluster"); err != nil {
		return err
	}
	if done, err := e.up(ctx, config); err != nil || !done {
		return err
	}
	return e.change(ctx, managed, "", e.ID, func(o map[string]any) { ranchertest.Updated(o, spec, e.nodes()) })
}

// keep writes the object as Rancher's controllers do.
func (e *engine) keep(ctx context.Context) error {
	return e.change(ctx, managed, "", e.ID, func(o map[string]any) { ranchertest.ThroughEngine(o) })
}

// nodes are the machines as Rancher keeps them: the object does not name them.
func (e *engine) nodes() (list []any) {
	for _, m := range e.Machines {
		role := []any{"worker"}
		if m.ControlPlane {
			role = []any{"etcd", "controlplane"}
		}
		list = append(list, map[string]any{"nodeName": m.Node, "role": role, "hostnameOverride": m.Node, "user": "ubuntu"})
	}
	return list
}

// writeState reports how RKE's run goes.
func (e *engine) writeState(ctx context.Context, is, message string) error {
	return e.change(ctx, managed, "", e.ID, func(o map[string]any) { ranchertest.Updating(o, is, message) })
}

// up does what RKE's run does: the manager of every control plane, one machine at a time, each of which it
// releases from a cordon, whoever put it there, and then the addons.
func (e *engine) up(ctx context.Context, config map[string]any) (done bool, err error) {
	text, err := json.Marshal(map[string]any{engineKey: config})
	if err != nil {
		return false, err
	}
	doc, err := yamledit.ParseString(e.Name, string(text))
	if err != nil {
		return false, err
	}
	w, err := agent.FromRKE1(doc, agent.Related{}, filepath.Join(e.Dir, "host"))
	if err != nil {
		return false, err
	}
	for _, m := range e.Machines {
		if e.isSuspended(m.Name) {
			return false, nil
		}
		if m.ControlPlane {
			if err := e.Kubelets.Static(ctx, cluster.Spec{Component: cluster.KCM, Machine: m.Name, Args: w.KCM, CloudConfig: w.CloudConfig}); err != nil {
				return false, err
			}
		}
		if err := e.node(ctx, m.Node, func(n *corev1.Node) { n.Spec.Unschedulable = false }); err != nil {
			return false, err
		}
		if m.ControlPlane {
			if !kube.Pause(ctx, e.Pause) {
				return false, ctx.Err()
			}
		}
	}
	addons, _ := config["addons"].(string)
	return true, e.addons.Apply(ctx, addons)
}

// isSettled reports whether nothing is left to do.
func (e *engine) isSettled(ctx context.Context) (bool, error) {
	object, err := e.dynamic.Resource(managed).Get(ctx, e.ID, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	config, _, _ := unstructured.NestedMap(object.Object, "spec", engineKey)
	applied, _, _ := unstructured.NestedMap(object.Object, "status", "appliedSpec", engineKey)
	delete(applied, "nodes")
	return ranchertest.Same(config, applied), nil
}
