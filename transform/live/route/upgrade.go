// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// olderManager finds a cloud-controller-manager whose image is older than the cluster: one minor
// later it would be two minors older than kube-apiserver, which is not supported.
func (r Planner) olderManager(p *transform.Plan, seen *observation.Observation) []transform.Finding {
	rule := rules.CCMMinorSkew.Rule
	if slices.Contains(r.Target.Accept, rule.ID) {
		return nil
	}
	for _, d := range seen.DaemonSets {
		tag := tagOf(d.Image)
		if semver.IsValid(tag) && semver.Compare(semver.MajorMinor(tag), semver.MajorMinor(p.Cluster.Version)) < 0 {
			return []transform.Finding{{
				Rule: rule.ID, Severity: transform.Error, Path: d.Namespace + "/" + d.Name,
				Message: "the cloud-controller-manager has the image " + tag + " on Kubernetes " + p.Cluster.Version + ", and can be one minor older than kube-apiserver at most",
				Fix:     "move its image to the minor of the cluster first, as " + stages.UpgradeCCM + " does",
			}}
		}
	}
	return nil
}
