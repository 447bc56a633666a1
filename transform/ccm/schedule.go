// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"encoding/json"
	"fmt"
	"maps"
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

// Refuses reports why the DaemonSet puts no pod on the nodes of a class, or "".
func (c Chart) Refuses(class NodeClass) string {
	if missed := c.missedLabels(class); len(missed) > 0 {
		return fmt.Sprintf("nodeSelector asks for %s: %q", missed[0], c.selector()[missed[0]])
	}
	tolerations, err := c.tolerations()
	if err != nil {
		return "the tolerations cannot be read"
	}
	for _, taint := range class.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(tolerations, taint) {
			return fmt.Sprintf("no toleration for the taint %s:%s", taint.Key, taint.Effect)
		}
	}
	return ""
}

// Blamed returns the path of the values for which Refuses has something to say.
func (c Chart) Blamed(class NodeClass) []string {
	if missed := c.missedLabels(class); len(missed) > 0 {
		return []string{selectorKey, missed[0]}
	}
	return []string{tolerationsKey}
}

// missedLabels returns the keys of the node selector whose labels the nodes do not
// have.
func (c Chart) missedLabels(class NodeClass) []string {
	selector := c.selector()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(selector)), func(key string) bool {
		have, found := class.Labels[key]
		return found && have == selector[key]
	})
}

// SchedulingShown reports whether the file shows what decides where the pods run.
func (c Chart) SchedulingShown() bool {
	_, selector := c.Unknown(selectorKey)
	_, tolerations := c.Unknown(tolerationsKey)
	return !selector && !tolerations
}

func tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Logger{}, &taint, false)
	})
}

// selector returns the node selector.
func (c Chart) selector() map[string]string {
	all := map[string]string{}
	own, _ := c.Value(selectorKey).(map[string]any)
	for key, v := range own {
		all[key] = fmt.Sprint(v)
	}
	return all
}

func (c Chart) tolerations() ([]corev1.Toleration, error) {
	b, err := json.Marshal(c.list(tolerationsKey))
	if err != nil {
		return nil, err
	}
	var list []corev1.Toleration
	err = json.Unmarshal(b, &list)
	return list, err
}
