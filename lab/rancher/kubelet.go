// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// marks are what a format's nodes show their roles by: the name of control planes, and the value of labels and
// taints.
type marks struct{ controlPlane, value, taint string }

// put gives a node the labels and taints of its roles: those of machines that are no workers keep other pods
// away.
func (k marks) put(n *corev1.Node, m Machine) {
	for role, has := range map[string]bool{k.controlPlane: m.ControlPlane, "etcd": m.Etcd, "worker": m.Worker} {
		if has {
			n.Labels["node-role.kubernetes.io/"+role] = k.value
		}
	}
	if m.ControlPlane && !m.Worker {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "node-role.kubernetes.io/" + k.controlPlane, Value: k.taint, Effect: corev1.TaintEffectNoSchedule})
	}
	if m.Etcd && !m.Worker {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "node-role.kubernetes.io/etcd", Value: k.taint, Effect: corev1.TaintEffectNoExecute})
	}
}

// register registers the node of a machine, as its kubelet did when it joined.
func (d *Downstream) register(ctx context.Context, m Machine, name string, with cluster.Provider) error {
	node := cluster.NewNode(name, m.instance, with)
	d.marks.put(node, m)
	if m.UID != "" {
		node.Labels[ranchertest.MachineLabel] = m.UID
	}
	return d.Register(ctx, node)
}

// of is the machine as RKE2 knows it.
func (m Machine) of() agent.Machine {
	return agent.Machine{Name: m.Name, Host: m.Host, ControlPlane: m.ControlPlane, Etcd: m.Etcd, Worker: m.Worker, Instance: m.instance}
}

// Restart restarts a service on the machine of a node, as systemctl does there. A machine has one of the two
// services of RKE2.
func (d *Downstream) Restart(ctx context.Context, node, service string) error {
	i := slices.IndexFunc(d.Machines, func(m Machine) bool { return m.Node == node })
	if i < 0 {
		return fmt.Errorf("rancher: no machine has the node %q", node)
	}
	m := d.Machines[i]
	has := "rke2-agent"
	if m.ControlPlane || m.Etcd {
		has = "rke2-server"
	}
	if service != has {
		return fmt.Errorf("rancher: machine %s has no service %q", m.Name, service)
	}
	d.mu.Lock()
	config := d.configs[m.Name]
	d.mu.Unlock()
	return d.rke2.StartKubelet(ctx, m.of(), config)
}

// configure keeps the configuration of RKE2 on a machine.
func (d *Downstream) configure(machine string, config map[string]any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.configs[machine] = config
}
