// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"cmp"
	"maps"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	"github.com/rancher/wrangler/v3/pkg/name"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The labels by which Rancher knows a machine's roles and system (rancher
// pkg/capr).
const (
	LabelControlPlane = "rke.cattle.io/control-plane-role"
	LabelEtcd         = "rke.cattle.io/etcd-role"
	LabelWorker       = "rke.cattle.io/worker-role"
	LabelOS           = "cattle.io/os"
)

// The labels that only machines of pools have.
const (
	labelPool       = "rke.cattle.io/rke-machine-pool-name"
	labelDeployment = "cluster.x-k8s.io/deployment-name"
)

// Class is a machine class: all machines that have the same labels and hence
// get the same configuration.
type Class struct {
	Name   string
	Labels map[string]string // what selectors are matched against
	Pool   yamledit.Node     // the machine pool; none for a custom cluster
	reach  *reach
}

// is reads a role as the planner does: a pool's own labels may say something else
// than its role fields.
func (c Class) is(label string) bool { return c.Labels[label] == "true" }

// ControlPlane reports whether the machines run kube-apiserver and the managers.
func (c Class) ControlPlane() bool { return c.is(LabelControlPlane) }

// Etcd reports whether the machines run etcd.
func (c Class) Etcd() bool { return c.is(LabelEtcd) }

// Worker reports whether the machines run workloads.
func (c Class) Worker() bool { return c.is(LabelWorker) }

// Server reports whether the machines run rke2-server, as pure etcd machines do.
func (c Class) Server() bool { return c.ControlPlane() || c.Etcd() }

// Windows reports whether the machines run Windows.
func (c Class) Windows() bool { return c.Labels[LabelOS] == "windows" }

// Runs reports whether the machines run the component whose arguments are under a key, such as
// kubelet-arg: every machine a kubelet, control planes the others.
func (c Class) Runs(component string) bool { return component == kubeletArgs || c.ControlPlane() }

// Kind is the index in Machines.Kinds of the class whose configuration is the same.
func (c Class) Kind() int { return c.reach.kind }

// PoolLabels returns the labels of Rancher's machine template (rancher
// pkg/controllers/capr/provisioningcluster); machineDeploymentLabels are not
// among them, and the pool's own labels come last.
func PoolLabels(cluster string, p provv1.RKEMachinePool) map[string]string {
	labels := map[string]string{
		"cluster.x-k8s.io/cluster-name": cluster,
		labelDeployment:                 name.SafeConcatName(cluster, p.Name),
		"rke.cattle.io/cluster-name":    cluster,
		labelPool:                       p.Name,
		LabelOS:                         cmp.Or(p.MachineOS, "linux"),
	}
	if p.ControlPlaneRole {
		labels["cluster.x-k8s.io/control-plane"] = "true"
	}
	setRoles(labels, p.EtcdRole, p.ControlPlaneRole, p.WorkerRole)
	maps.Copy(labels, p.Labels)
	return labels
}

// setRoles leaves out the label of a role that a machine does not have.
func setRoles(labels map[string]string, etcd, controlPlane, worker bool) {
	for label, has := range map[string]bool{LabelEtcd: etcd, LabelControlPlane: controlPlane, LabelWorker: worker} {
		if has {
			labels[label] = "true"
		}
	}
}
