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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// planType is the type of the Secrets in which machines find their plans.
const planType = "rke.cattle.io/machine-plan"

// AddRKE2 makes a cluster of a document, with as many machines as its pools require, and returns when all
// of them run what it says. The first machines joined as is said, the others with the in-tree provider.
func (s *Server) AddRKE2(ctx context.Context, doc *yamledit.Document, joined ...Joined) (*Downstream, error) {
	read, err := rke2.Open(doc, "")
	if err != nil {
		return nil, err
	}
	object, _ := doc.Root().Value().(map[string]any)
	name, _ := doc.Root().Get("metadata", "name").String()
	id := "c-m-" + suffix(name, 8)
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
			list = append(list, Machine{
				Name: fmt.Sprintf("%s-%s-%s-%d", name, class.Name, suffix(class.Name, 5), n+1), Pool: class.Name,
				Joined: inTree, ControlPlane: class.ControlPlane(), Etcd: class.Etcd(), Worker: class.Worker(), Labels: class.Labels,
			})
		}
	}
	return list
}

// quantity returns how many machines a class has; a pool that does not say has one.
func quantity(class rke2.Class) int {
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
		condition(status, name, "True", "")
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
		status := statusOf(o)
		status["phase"], status["infrastructureReady"], status["controlPlaneReady"] = "Provisioned", true, true
		for _, name := range []string{"Ready", "ControlPlaneInitialized", "ControlPlaneReady", "InfrastructureReady"} {
			condition(status, name, "True", "")
		}
	}, "status")
	if err != nil {
		return err
	}
	for i := range d.Machines {
		if err := s.writeMachine(ctx, d, &d.Machines[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeMachine writes a Machine, its Secret, and the mark on its node that says which one it is.
func (s *Server) writeMachine(ctx context.Context, d *Downstream, m *Machine) error {
	labels := map[string]any{}
	for k, v := range m.Labels {
		labels[k] = v
	}
	ref := func(group, kind string) map[string]any {
		return map[string]any{"apiVersion": group + "/v1", "kind": kind, "name": m.Name, "namespace": Namespace}
	}
	err := s.create(ctx, infrastructures, Namespace, map[string]any{
		"apiVersion": infrastructures.Group + "/v1", "kind": infrastructureKind, "metadata": map[string]any{"name": m.Name, "namespace": Namespace},
	})
	if err != nil {
		return err
	}
	err = s.create(ctx, machines, Namespace, map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
		"metadata": map[string]any{"name": m.Name, "namespace": Namespace, "labels": labels},
		"spec": map[string]any{"clusterName": d.Name, "bootstrap": map[string]any{"configRef": ref("rke.cattle.io", "RKEBootstrap")},
			"infrastructureRef": ref(infrastructures.Group, infrastructureKind)},
	})
	if err != nil {
		return err
	}
	err = s.change(ctx, machines, Namespace, m.Name, func(o map[string]any) {
		status := statusOf(o)
		status["bootstrapReady"], status["infrastructureReady"] = true, true
		for _, name := range []string{"BootstrapReady", "PlanApplied", "Reconciled"} {
			condition(status, name, "True", "")
		}
	}, "status")
	if err != nil {
		return err
	}
	made, err := s.dynamic.Resource(machines).Namespace(Namespace).Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	m.uid = string(made.GetUID())
	if err := d.node(ctx, m.Node, func(n *corev1.Node) { n.Labels[machineLabel] = m.uid }); err != nil {
		return err
	}
	return s.writePlanSecret(ctx, d, *m, made)
}

// writePlanSecret writes the Secret by which a machine gets its plans; it has none yet.
func (s *Server) writePlanSecret(ctx context.Context, d *Downstream, m Machine, machine *unstructured.Unstructured) error {
	labels := map[string]string{"cluster.x-k8s.io/cluster-name": d.Name, "rke.cattle.io/machine-name": m.Name, "rke.cattle.io/machine-id": suffix(m.Name, 16)}
	for k, v := range m.Labels {
		labels[k] = v
	}
	if m.Name == d.Machines[0].Name {
		labels["rke.cattle.io/init-node"] = "true"
	}
	_, err := s.client.CoreV1().Secrets(Namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name + "-machine-plan", Namespace: Namespace, Labels: labels}, Type: planType,
	}, metav1.CreateOptions{})
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
