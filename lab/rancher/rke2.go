// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// AddRKE2 makes a cluster of a document, with as many machines as its pools require, and returns when all
// of them run what it says. The first machines joined as is said, the others with the in-tree provider.
func (s *Server) AddRKE2(ctx context.Context, doc *yamledit.Document, joined ...Joined) (*Downstream, error) {
	read, err := rke2.Open(doc, transform.Target{})
	if err != nil {
		return nil, err
	}
	object, _ := doc.Root().Value().(map[string]any)
	name, _ := doc.Root().Get("metadata", "name").String()
	id := "c-m-" + ranchertest.Draw(name, 8)
	d := &Downstream{ID: id, Name: name, Machines: machinesOf(name, read), marks: marks{"control-plane", "true", ""}}
	for i, j := range joined {
		d.Machines[i].Joined = j
	}
	if err := s.launch(ctx, d, semver.MajorMinor(read.Version)); err != nil {
		return nil, err
	}
	if d.rke2, err = agent.StartRKE2(ctx, d.Cluster, d.Kubelets, s.helm, read.Version); err != nil {
		return nil, err
	}
	if err := s.writeRKE2(ctx, d, object); err != nil {
		return nil, err
	}
	r := &provisioning{Server: s, Downstream: d}
	if _, err := r.link(ctx); err != nil {
		return nil, err
	}
	s.reconcile(id, r.sync)
	if err := s.settled(ctx, id, func() (bool, error) { return r.isSettled(ctx) }); err != nil {
		return nil, err
	}
	// That its machines were ready once is what the last specification was applied by.
	s.reconcile(id+" machines", r.follow)
	return d, nil
}

// machinesOf returns the machines of a cluster's pools.
func machinesOf(name string, read *rke2.Cluster) []Machine {
	var list []Machine
	for _, class := range read.Classes {
		for n := range quantity(class) {
			list = append(list, Machine{Joined: inTree, Pool: class.Name, Machine: ranchertest.Machine{
				Cluster: name, Namespace: Namespace, Name: fmt.Sprintf("%s-%s-%s-%d", name, class.Name, ranchertest.Draw(class.Name, 5), n+1), Labels: class.Labels,
				ControlPlane: class.ControlPlane(), Etcd: class.Etcd(), Worker: class.Worker(),
			}})
		}
	}
	return list
}

// quantity returns how many machines a class has; a pool that does not say has one.
func quantity(class effective.Class) int {
	number, err := strconv.Atoi(fmt.Sprint(class.Pool.Get("quantity").Value()))
	if err != nil {
		return 1
	}
	return number
}

// manage writes the object that Rancher makes of a cluster that it provisions.
func (s *Server) manage(ctx context.Context, id, name string) error {
	status := map[string]any{"driver": "rke2", "provider": "rke2"}
	for _, name := range ready {
		ranchertest.SetCondition(status, name, "True", "")
	}
	return s.create(ctx, managed, "", map[string]any{
		"apiVersion": "management.cattle.io/v3", "kind": "Cluster",
		"metadata": map[string]any{"name": id, "annotations": map[string]any{
			"objectset.rio.cattle.io/id": "provisioning-cluster-create", "objectset.rio.cattle.io/owner-gvk": "provisioning.cattle.io/v1, Kind=Cluster",
			"objectset.rio.cattle.io/owner-name": name, "objectset.rio.cattle.io/owner-namespace": Namespace,
		}},
		"spec": map[string]any{"displayName": name, "fleetWorkspaceName": Namespace}, "status": status,
	})
}

// writeRKE2 writes the objects that Rancher has of a new cluster.
func (s *Server) writeRKE2(ctx context.Context, d *Downstream, object map[string]any) error {
	spec, _ := object["spec"].(map[string]any)
	if err := s.create(ctx, clusters, Namespace, provisioned(d.Name, Namespace, spec)); err != nil {
		return err
	}
	if err := s.manage(ctx, d.ID, d.Name); err != nil {
		return err
	}
	if err := s.namespace(ctx, d.ID); err != nil {
		return err
	}
	err := s.create(ctx, infrastructure, Namespace, map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": map[string]any{"name": d.Name, "namespace": Namespace},
		"spec": map[string]any{
			"controlPlaneRef":   map[string]any{"apiVersion": "rke.cattle.io/v1", "kind": "RKEControlPlane", "name": d.Name, "namespace": Namespace},
			"infrastructureRef": map[string]any{"apiVersion": "rke.cattle.io/v1", "kind": "RKECluster", "name": d.Name, "namespace": Namespace},
		},
	})
	if err != nil {
		return err
	}
	err = s.change(ctx, infrastructure, Namespace, d.Name, func(o map[string]any) {
		status := ranchertest.StatusOf(o)
		status["phase"], status["infrastructureReady"], status["controlPlaneReady"] = "Provisioned", true, true
		for _, name := range []string{"Ready", "ControlPlaneInitialized", "ControlPlaneReady", "InfrastructureReady"} {
			ranchertest.SetCondition(status, name, "True", "")
		}
	}, "status")
	if err != nil {
		return err
	}
	for i := range d.Machines {
		if m := &d.Machines[i]; i > 0 {
			m.Server = d.Machines[0].Node
		}
		if err := s.writeMachine(ctx, d, &d.Machines[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeMachine writes a Machine, its Secret, and the mark on its node that says which one it is.
func (s *Server) writeMachine(ctx context.Context, d *Downstream, m *Machine) error {
	err := s.create(ctx, infrastructures, Namespace, map[string]any{
		"apiVersion": infrastructures.Group + "/v1", "kind": infrastructureKind, "metadata": map[string]any{"name": m.Name, "namespace": Namespace},
	})
	if err != nil {
		return err
	}
	if err = s.create(ctx, machines, Namespace, m.Object()); err != nil {
		return err
	}
	err = s.change(ctx, machines, Namespace, m.Name, func(o map[string]any) {
		status := ranchertest.StatusOf(o)
		status["bootstrapReady"], status["infrastructureReady"] = true, true
		for _, name := range []string{"BootstrapReady", "PlanApplied", "Reconciled"} {
			ranchertest.SetCondition(status, name, "True", "")
		}
	}, "status")
	if err != nil {
		return err
	}
	made, err := s.dynamic.Resource(machines).Namespace(Namespace).Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	m.UID = string(made.GetUID())
	if err := d.node(ctx, m.Node, func(n *corev1.Node) { n.Labels[ranchertest.MachineLabel] = m.UID }); err != nil {
		return err
	}
	_, err = s.client.CoreV1().Secrets(Namespace).Create(ctx, m.Secret(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// settled waits until a cluster has followed its object.
func (s *Server) settled(ctx context.Context, id string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*cluster.ReadyTimeout)
	defer cancel()
	for {
		done, err := is()
		if done && err == nil {
			return nil
		}
		if !kube.Pause(ctx, 200*time.Millisecond) {
			return fmt.Errorf("rancher: cluster %s never settled: %w", id, errors.Join(ctx.Err(), err, s.Fault(id)))
		}
	}
}
