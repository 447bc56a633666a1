// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/stages"
)

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
