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
		Why:        "The published procedure has it: no new workload starts on a control plane while it switches. The lease keeps the owners apart, not the cordon; it comes after the chart, whose install Job a cordoned control plane would hold back.",
		ReleaseWhy: "The nodes that were cordoned for the switch take workloads again; nodes that someone else cordoned stay as they are.",
	}
}
