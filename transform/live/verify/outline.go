// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
)

// Outline is a cluster in a few words; "" stands for what cannot be told.
type Outline struct {
	Distro   string // rke2, rke1, k3s or manifest
	Provider string // aws or external
	Reached  string // the last stage whose result shows
}

// Outlined describes a cluster. RKE1 alone writes its label for control planes
// without a hyphen, and runs its managers outside of pods.
func Outlined(o *observation.Observation) Outline {
	j := newJudge(o, Choice{})
	out := Outline{Reached: j.reached()}
	kube := j.of(observation.KubeManager)
	switch {
	case strings.Contains(o.Version, "+rke2"):
		out.Distro = "rke2"
	case strings.Contains(o.Version, "+k3s"):
		out.Distro = "k3s"
	case len(kube) > 0:
		out.Distro = "manifest"
	case j.controlPlanes() > 0 && hasLabel(o.Nodes, "node-role.kubernetes.io/controlplane"):
		out.Distro = "rke1"
	}
	switch {
	case len(kube) > 0 && j.any(observation.KubeManager, hasLoops):
		out.Provider = "aws"
	case len(kube) > 0 && j.any(observation.KubeManager, isExternal):
		out.Provider = "external"
	}
	return out
}

func isExternal(p ownership.Process) bool { return !p.Loops }

func hasLabel(nodes []observation.Node, label string) bool {
	for _, n := range nodes {
		if _, has := n.Labels[label]; has {
			return true
		}
	}
	return false
}
