// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
)

// controlPlaneNodeLabel selects RKE2's control-plane nodes.
const controlPlaneNodeLabel = "node-role.kubernetes.io/control-plane=true"

// cordonRun marks the nodes that one migration cordoned.
func (m *migration) cordonRun() string { return "leader-migration-" + m.Name }

// cordonControlPlane keeps new pods off the control planes during the switch.
// It comes after the chart: a cordoned control plane holds back RKE2's Helm
// install Job, and no DaemonSet pod.
func (m *migration) cordonControlPlane() transform.Stage {
	s := transform.Stage{Name: transform.CordonControlPlane, Why: "Not needed here: " + m.cordonNot() + "."}
	if m.cordons() {
		s.Why = "The published procedure has it: no new workload starts on a control plane while it switches. The lease keeps the owners apart, not the cordon; it comes after the chart, whose install Job a cordoned control plane would hold back."
		s.Actions = []transform.Action{transform.Cordon{Selector: controlPlaneNodeLabel, Run: m.cordonRun()}}
		s.Restore = []transform.Action{transform.Uncordon{Run: m.cordonRun()}}
	}
	return s
}

func (m *migration) uncordonControlPlane() transform.Stage {
	s := transform.Stage{Name: transform.UncordonControlPlane, Why: "Not needed here: " + m.cordonNot() + "."}
	if m.cordons() {
		s.Why = "The nodes that were cordoned for the switch take workloads again; nodes that someone else cordoned stay as they are."
		s.Actions = []transform.Action{transform.Uncordon{Run: m.cordonRun()}}
	}
	return s
}

func (m *migration) cordons() bool { return m.cordonNot() == "" }

// cordonNot says why nothing is cordoned, or "".
func (m *migration) cordonNot() string {
	worker := slices.ContainsFunc(m.Classes, func(c Class) bool { return c.ControlPlane() && c.Worker() })
	switch {
	case m.target.Cordon == transform.CordonAlways:
		return ""
	case m.target.Cordon == transform.CordonNever:
		return "--cordon never was given"
	case worker:
		return "control planes also carry workloads, which could not be scheduled"
	case m.target.Version != "":
		return "Kubernetes is upgraded as well, and pods have to move"
	}
	return ""
}

// verifyProviderIDs is the last stage: checks alone.
func (m *migration) verifyProviderIDs() transform.Stage {
	return transform.Stage{
		Name:    transform.VerifyProviderIDs,
		Why:     "A provider ID that is there proves little, because in-tree kubelets wrote it and it never changes; names that stayed and no taint left prove that the nodes are the same ones.",
		Actions: []transform.Action{transform.ProviderIDs{}, transform.LeaseHolder{Why: "the migration lease has the holder of cloud-controller-manager, or is not renewed any more when leader migration is off", Lease: m.target.LeaseName}},
	}
}
