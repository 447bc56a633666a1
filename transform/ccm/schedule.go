// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// NodeClass is what the scheduler sees of the nodes of a machine class.
type NodeClass struct {
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
}

// defaultSelector and defaultTolerations are the chart's own. The selector is
// merged with the one in the values, the tolerations are replaced.
var (
	defaultSelector    = map[string]any{controlPlaneRole: ""}
	defaultTolerations = []corev1.Toleration{
		{Key: Uninitialized.Key, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node-role.kubernetes.io/master", Effect: corev1.TaintEffectNoSchedule},
		{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule},
	}
)

// Refuses says why the DaemonSet puts no pod on the nodes of a class, or "".
func (c Chart) Refuses(class NodeClass) string {
	if why := c.deselects(class); why != "" {
		return why
	}
	tolerations, err := c.tolerations()
	if err != nil {
		return "the tolerations cannot be read"
	}
	for _, taint := range class.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !tolerates(tolerations, taint) {
			return fmt.Sprintf("no toleration for the taint %s:%s", taint.Key, taint.Effect)
		}
	}
	return ""
}

// deselects says which label the node selector misses on the nodes, or "".
func (c Chart) deselects(class NodeClass) string {
	for key, want := range c.selector() {
		if have, found := class.Labels[key]; !found || have != want {
			return fmt.Sprintf("nodeSelector asks for %s: %q", key, want)
		}
	}
	return ""
}

func tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Logger{}, &taint, false)
	})
}

// selector returns the node selector behind Helm's merge; null takes a default
// away.
func (c Chart) selector() map[string]string {
	merged := map[string]string{}
	own, _ := c.Values.Get("nodeSelector").Value().(map[string]any)
	for _, layer := range []map[string]any{defaultSelector, own} {
		for key, v := range layer {
			if v == nil {
				delete(merged, key)
				continue
			}
			merged[key] = fmt.Sprint(v)
		}
	}
	return merged
}

func (c Chart) tolerations() ([]corev1.Toleration, error) {
	at := c.Values.Get("tolerations")
	if !at.IsList() {
		return defaultTolerations, nil
	}
	b, err := json.Marshal(at.Value())
	if err != nil {
		return nil, err
	}
	var list []corev1.Toleration
	err = json.Unmarshal(b, &list)
	return list, err
}
