// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// promised reports whether a key may go from one value to the other on machines of
// a class. An absent value is nil.
type promised func(class Class, key string, before, after any) bool

// check compares every machine class before and after a stage. Keys that do not
// change need no promise.
func (m *migration) check(after *migration, ok promised) error {
	a := after.under(m.Release) // a release's own arguments are no change of the stage
	if len(m.Classes) != len(a.Classes) {
		return fmt.Errorf("the machine classes would change")
	}
	seen := map[[2]*reach]bool{}
	for i, class := range m.Classes {
		if class.Name != a.Classes[i].Name || !maps.Equal(class.Labels, a.Classes[i].Labels) {
			return fmt.Errorf("the machine class %s would change", class.Name)
		}
		if kind := [2]*reach{class.reach, a.Classes[i].reach}; !seen[kind] {
			seen[kind] = true
			if err := checkClass(class, m.Effective(class).Values(), a.Effective(a.Classes[i]).Values(), ok); err != nil {
				return err
			}
		}
	}
	return m.strict.Allows(a.strict)
}

func checkClass(class Class, before, after map[string]any, ok promised) error {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !reflect.DeepEqual(before[key], after[key]) && !ok(class, key, before[key], after[key]) {
			return fmt.Errorf("%s would change on machines of class %s", key, class.Name)
		}
	}
	return nil
}

// settled waits until all machines have taken the document over.
func (m *migration) settled() action.Action {
	return action.ClusterSettled(m.Namespace, m.Name)
}

// controlPlaneNodeLabel selects RKE2's control-plane nodes.
const controlPlaneNodeLabel = "node-role.kubernetes.io/control-plane=true"

// cordon is the policy for the cluster. The stage comes after the chart: a
// cordoned control plane holds back RKE2's Helm install Job, and no DaemonSet pod.
func (m *migration) cordon() stages.Cordoning {
	return stages.Cordoning{
		Choice:   m.target.Cordon,
		Workers:  slices.ContainsFunc(m.Classes, func(c Class) bool { return c.ControlPlane() && c.Worker() }),
		Upgrades: m.target.Version != "",
		Selector: controlPlaneNodeLabel, Cluster: m.Name,
		Why:        "Part of the published procedure: no new workload starts on a control plane while it switches. The lease guarantees one leader, not the cordon. Cordon after the installation of the chart, whose Job cannot run on cordoned control planes.",
		ReleaseWhy: "The nodes that were cordoned for the switch become schedulable again; nodes that another user cordoned stay cordoned.",
	}
}
