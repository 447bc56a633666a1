// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// controlPlaneLabel selects the control-plane nodes of kubeadm, whose label has
// no value.
const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// cordon is the policy for the nodes on which kube-controller-manager runs.
func (m *migration) cordon() stages.Cordoning {
	return stages.Cordoning{
		Instead:  m.cordonsNot(),
		Choice:   m.target.Cordon,
		Upgrades: m.target.Version != "",
		Selector: controlPlaneLabel, Cluster: m.Name,
		Why:        "No new workload starts on a control plane while it switches. The lease guarantees one leader, not the cordon: static pods and DaemonSet pods also start on a cordoned node.",
		ReleaseWhy: "The nodes that were cordoned for the switch become schedulable again; nodes that another user cordoned stay cordoned.",
	}
}

// cordonsNot reports why nothing is cordoned here, or "". The stages come with
// kube-controller-manager. The pods of a Deployment are held back by a cordon, so there it
// is made only where it is requested.
func (m *migration) cordonsNot() string {
	switch {
	case m.Component != kubeManager || m.Kind == kindConfiguration:
		return "The plan of the manifest of kube-controller-manager has this stage."
	case m.Kind == kindDeployment && m.target.Cordon != transform.CordonAlways:
		return "Not needed: the pods of the Deployment must be scheduled while it rolls out."
	}
	return ""
}
