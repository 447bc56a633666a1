// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// Outline is a cluster in a few words; "" means unknown.
type Outline struct {
	Format   string // the name of a format, or k3s
	Provider string // aws or external
	Reached  string // the last stage whose result shows
	Progress plan.Progress
}

// Outlined describes a cluster, which is of the first format that it looks like.
func Outlined(o *observed.Observation, formats []transform.Format) Outline {
	j := newEvaluation(o, Choice{})
	out := Outline{Reached: j.reached()}
	kube := j.of(observed.KubeManager)
	look := transform.Traits{Version: o.Version, ManagerPods: len(kube) > 0, NodeLabel: func(label string) bool {
		return slices.ContainsFunc(o.Nodes, func(n observed.Node) bool { _, has := n.Labels[label]; return has })
	}}
	if strings.Contains(o.Version, "+k3s") {
		out.Format = "k3s"
	} else if i := slices.IndexFunc(formats, func(d transform.Format) bool { return d.Live.Shows(look) }); i >= 0 {
		out.Format = formats[i].Name
	}
	switch {
	case len(kube) == 0:
		return out
	case j.any(observed.KubeManager, hasLoops):
		out.Provider = aws.Name
	default:
		out.Provider = "external"
	}
	out.Progress = j.progress()
	return out
}

// progress reports what the managers show. From 1.27 on a kube-controller-manager without a
// provider, and no other manager, is a cluster without one; an external one waits for its
// cloud-controller-manager.
func (j *evaluation) progress() plan.Progress {
	m := j.managers()
	late := k8s.From(j.Observation.Version, k8s.FirstWithout)
	switch {
	case !m.External && late:
		return plan.ProgressBroken(j.Observation.Version)
	case !m.External && (m.Flag || m.Cloud), m.External && m.CloudFlag:
		return plan.ProgressMigrating
	case !m.External:
		return plan.ProgressInTree
	case late && !m.Cloud && !j.any(observed.KubeManager, Process.Named):
		return plan.ProgressNone
	}
	return plan.ProgressExternal
}
