// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform/ccm"
)

// controlPlaneNodes returns what the scheduler sees of the control planes that the
// file lists; none where Rancher makes them from pools of its own.
func (c *Cluster) controlPlaneNodes() []ccm.NodeClass {
	var classes []ccm.NodeClass
	for _, n := range c.Read.Nodes {
		if slices.Contains(n.Role, "controlplane") {
			classes = append(classes, nodeClass(n))
		}
	}
	return classes
}

// nodeClass returns RKE's labels and taints for a node's roles, and the node's own
// (rancher/rke, services/workerplane.go).
func nodeClass(n node) ccm.NodeClass {
	const role = "node-role.kubernetes.io/"
	class := ccm.NodeClass{Name: strings.Join(n.Role, ", "), Labels: map[string]string{"kubernetes.io/os": "linux"}, Taints: []corev1.Taint{ccm.Uninitialized}}
	for _, r := range n.Role {
		class.Labels[role+r] = "true"
	}
	for key, value := range n.Labels {
		class.Labels[key] = value
	}
	taint := func(r string, effect corev1.TaintEffect) {
		if slices.Contains(n.Role, r) && !slices.Contains(n.Role, "worker") {
			class.Taints = append(class.Taints, corev1.Taint{Key: role + r, Value: "true", Effect: effect})
		}
	}
	taint("etcd", corev1.TaintEffectNoExecute)
	taint("controlplane", corev1.TaintEffectNoSchedule)
	for _, t := range n.Taints {
		class.Taints = append(class.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	return class
}
