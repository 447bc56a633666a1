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
	selectorKey      = "nodeSelector"
	tolerationsKey   = "tolerations"
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
func (c Chart) completeScheduling(at placer, classes []NodeClass) error {
	lands := func(class NodeClass) bool { return c.Refuses(class) == "" }
	if !c.SchedulingShown() || !slices.ContainsFunc(classes, func(class NodeClass) bool { return !lands(class) }) {
		return nil
	}
	if err := c.completeSelector(at, classes); err != nil {
		return err
	}
	return c.completeTolerations(at, classes)
}

// completeTolerations adds those that are missing. A list in the values replaces
// the chart's own.
func (c Chart) completeTolerations(at placer, classes []NodeClass) error {
	own := c.Decider(tolerationsKey).Root.Get(tolerationsKey)
	tolerations, err := c.tolerations()
	switch {
	case err != nil:
		return own.Errorf("they cannot be read", "write each with key, operator and effect")
	case !own.IsList():
		tolerations = nil
	}
	var missing []any
	for _, taint := range taintsOf(classes) {
		if !tolerates(tolerations, taint) {
			missing = append(missing, toleration(taint))
			tolerations = append(tolerations, corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpExists, Effect: taint.Effect})
		}
	}
	return appendOrPut(at, tolerationsKey, missing)
}

// unusual reports whether the nodes have other taints than the usual ones.
func (n NodeClass) unusual() bool {
	return slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return !slices.Contains(usualTaints, t) })
}

// completeSelector gives the selector RKE2's value. Another label that control
// planes do not have is the author's to take away.
func (c Chart) completeSelector(at placer, classes []NodeClass) error {
	completes := false
	for _, class := range classes {
		for _, key := range c.missedLabels(class) {
			if key != controlPlaneRole {
				return c.Decider(selectorKey, key).Node(selectorKey, key).Errorf("nodeSelector asks for "+key+", which nodes of class "+class.Name+" do not have with this value",
					"remove it, or label all control planes")
			}
			completes = true
		}
	}
	if !completes {
		return nil
	}
	p, err := at(selectorKey, controlPlaneRole)
	if err != nil {
		return err
	}
	p.put("true", selectorKey, controlPlaneRole)
	return nil
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
