// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	controlPlaneRole = "node-role.kubernetes.io/control-plane"
	etcdRole         = "node-role.kubernetes.io/etcd"
)

// Uninitialized is on every node that registers with an external provider, until
// the manager has initialised it; so the manager has to tolerate it.
var Uninitialized = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}

// usualTaints are those of control planes that Rancher makes (rancher
// pkg/capr/planner).
var usualTaints = []corev1.Taint{
	Uninitialized,
	{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule},
	{Key: etcdRole, Effect: corev1.TaintEffectNoExecute},
}

// completeScheduling makes the pods land on all classes of nodes, if they do not:
// the selector's value is RKE2's, and Exists tolerates a taint whatever its value.
func (c Chart) completeScheduling(e *yamledit.Edit, root yamledit.Node, classes []NodeClass) error {
	lands := func(class NodeClass) bool { return c.Refuses(class) == "" }
	if !slices.ContainsFunc(classes, func(class NodeClass) bool { return !lands(class) }) {
		return nil
	}
	if slices.ContainsFunc(classes, func(class NodeClass) bool { return c.deselects(class) != "" }) {
		c.completeSelector(e, root)
	}
	tolerations, err := c.tolerations()
	if err != nil {
		return root.Get("tolerations").Errorf("they cannot be read", "write each with key, operator and effect")
	}
	at := root.Get("tolerations")
	if !at.IsList() {
		tolerations = nil // the list in the values replaces the chart's own
	}
	var missing []any
	for _, taint := range taintsOf(classes) {
		if !tolerates(tolerations, taint) {
			missing = append(missing, toleration(taint))
			tolerations = append(tolerations, corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpExists, Effect: taint.Effect})
		}
	}
	if !at.IsList() {
		setOrInsert(e, root, "tolerations", missing)
		return nil
	}
	for _, t := range missing {
		e.Append(at, t)
	}
	return nil
}

// unusual reports whether the nodes have other taints than the usual ones.
func (n NodeClass) unusual() bool {
	return slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return !slices.Contains(usualTaints, t) })
}

func (c Chart) completeSelector(e *yamledit.Edit, root yamledit.Node) {
	selector := root.Get("nodeSelector")
	switch {
	case !selector.IsMap():
		setOrInsert(e, root, "nodeSelector", yamledit.Map{{Key: controlPlaneRole, Value: "true"}})
	case text(selector, controlPlaneRole) != "true":
		setOrInsert(e, selector, controlPlaneRole, "true")
	}
}

// taintsOf returns the taints that keep pods off control planes, the usual ones
// first.
func taintsOf(classes []NodeClass) []corev1.Taint {
	all := slices.Clone(usualTaints)
	for _, class := range classes {
		for _, taint := range class.Taints {
			if taint.Effect != corev1.TaintEffectPreferNoSchedule {
				all = append(all, taint)
			}
		}
	}
	return all
}

func toleration(t corev1.Taint) yamledit.Map {
	return yamledit.Map{{Key: "key", Value: t.Key}, {Key: "operator", Value: "Exists"}, {Key: "effect", Value: string(t.Effect)}}
}
