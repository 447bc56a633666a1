// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"slices"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// check compares every machine class before and after a stage, which promises what may change, and the fields that
// Rancher does not know.
func (m *migration) check(after *migration, ok func(class effective.Class, key string, before, after any) bool) error {
	return cmp.Or(m.Check(&after.Machines, ok), m.strict.Allows(after.strict))
}

// settled waits until all machines have taken the document over.
func (m *migration) settled() action.Action { return action.ClusterSettled(m.Namespace, m.Name) }

// controlPlaneNodeLabel selects RKE2's control-plane nodes.
const controlPlaneNodeLabel = "node-role.kubernetes.io/control-plane=true"

// cordon is the policy for the cluster. The stage comes after the chart: a
// cordoned control plane holds back RKE2's Helm install Job, and no DaemonSet pod.
func (m *migration) cordon() stages.Cordoning {
	return stages.Cordoning{
		Target:   m.target,
		Workers:  slices.ContainsFunc(m.Classes, func(c effective.Class) bool { return c.ControlPlane() && c.Worker() }),
		Selector: controlPlaneNodeLabel, Cluster: m.Name,
		Why:        "Part of the published procedure: no new workload starts on a control plane while it switches. The lease guarantees one leader, not the cordon. Cordon after the installation of the chart, whose Job cannot run on cordoned control planes.",
		ReleaseWhy: "The nodes that were cordoned for the switch become schedulable again; nodes that another user cordoned stay cordoned.",
	}
}
