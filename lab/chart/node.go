// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Node is a model of a node, with the labels and taints that Rancher gives it.
type Node struct {
	corev1.Node
	ControlPlane bool
}

// roleLabels is how a format marks the roles of its nodes.
type roleLabels struct {
	controlPlane []string
	etcd, worker string
	taintValue   string
}

var (
	// onRKE2 is read in rancher/rancher pkg/capr/planner and rancher/rke2.
	onRKE2 = roleLabels{
		controlPlane: []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"},
		etcd:         "node-role.kubernetes.io/etcd", worker: "node-role.kubernetes.io/worker",
	}
	// onRKE1 is read in rancher/rke cluster and services.
	onRKE1 = roleLabels{
		controlPlane: []string{"node-role.kubernetes.io/controlplane"},
		etcd:         "node-role.kubernetes.io/etcd", worker: "node-role.kubernetes.io/worker", taintValue: "true",
	}
)

// states are what else a node may be while a cluster is migrated.
var states = map[string][]corev1.Taint{
	"":              nil,
	"uninitialized": {{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}},
	"cordoned":      {{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}},
}

// allRoles are the combinations of roles that machines may have.
var allRoles = []string{"control-plane", "etcd", "worker", "control-plane+etcd", "control-plane+worker", "etcd+worker", "control-plane+etcd+worker"}

// Nodes returns a node for each combination of roles, in every state.
func (l roleLabels) Nodes(combinations ...string) []Node {
	var nodes []Node
	for state, taints := range states {
		for _, roles := range combinations {
			n := l.node(roles)
			n.Name = strings.TrimSpace(state + " " + roles)
			n.Spec.Taints = append(n.Spec.Taints, taints...)
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// node returns a node with roles. Rancher taints those that are no workers.
func (l roleLabels) node(roles string) Node {
	n := Node{ControlPlane: strings.Contains(roles, "control-plane")}
	n.ObjectMeta = metav1.ObjectMeta{Labels: map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}}
	worker, etcd := strings.Contains(roles, "worker"), strings.Contains(roles, "etcd")
	taint := func(key string, effect corev1.TaintEffect) {
		if !worker {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: l.taintValue, Effect: effect})
		}
	}
	if n.ControlPlane {
		for _, key := range l.controlPlane {
			n.Labels[key] = "true"
		}
		taint(l.controlPlane[0], corev1.TaintEffectNoSchedule)
	}
	if etcd {
		n.Labels[l.etcd] = "true"
		taint(l.etcd, corev1.TaintEffectNoExecute)
	}
	if worker {
		n.Labels[l.worker] = "true"
	}
	return n
}

// Refuses reports why no pod of the DaemonSet runs on a node, or "".
func (r *Rendered) Refuses(n Node) (string, error) {
	pod := corev1.Pod{Spec: r.DaemonSet.Spec.Template.Spec}
	fits, err := nodeaffinity.GetRequiredNodeAffinity(&pod).Match(&n.Node)
	if err != nil {
		return "", err
	}
	if !fits {
		return "the node selector does not match", nil
	}
	counts := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	tolerations := append(daemonTolerations(pod.Spec.HostNetwork), pod.Spec.Tolerations...)
	if t, stuck := scheduling.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, tolerations, counts, false); stuck {
		return fmt.Sprintf("the taint %s:%s is not tolerated", t.Key, t.Effect), nil
	}
	return "", nil
}

// daemonTolerations are those that the DaemonSet controller adds to its pods
// (k8s.io/kubernetes pkg/controller/daemon/util).
func daemonTolerations(hostNetwork bool) []corev1.Toleration {
	list := []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodePIDPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	}
	if hostNetwork {
		list = append(list, corev1.Toleration{Key: corev1.TaintNodeNetworkUnavailable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	return list
}
