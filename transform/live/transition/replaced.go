// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Upgrade is an upgrade of a release in a transition.
type Upgrade struct {
	Transition Transition
	Action     action.HelmUpgrade
}

// Upgrades returns the upgrades of releases that stages have, as things are before the first of
// them.
func (r Planner) Upgrades(p *plan.Plan, names []string, back bool, seen *observed.Observation) ([]Upgrade, error) {
	var all []Upgrade
	for _, name := range names {
		step, err := p.Named(name)
		if err != nil {
			return nil, err
		}
		if step.Stage.Edit != nil {
			continue // its values are in a document
		}
		l, err := r.Plan(p, name, back, seen)
		if err != nil {
			return nil, err
		}
		if a, upgrades := chartOf(slices.Concat(l.Step.Stage.Before, l.Step.Stage.After)); upgrades {
			all = append(all, Upgrade{l, a})
		}
	}
	return all, nil
}

// Replaced returns the keys of the values of a release that an upgrade drops or changes although
// the migration does not require it. What it requires is what becomes of the same values if the
// operator names them as his file; of values that cannot be that file nothing is to change.
func (r Planner) Replaced(u Upgrade, has *yamledit.Document) ([]string, error) {
	gets, err := yamledit.ParseString(u.Action.Values, u.Transition.Files[u.Action.Values])
	if err != nil {
		return nil, err
	}
	values := ccm.Upgrade{Has: has.Root().Value(), Gets: gets.Root().Value(), Needs: has.Root().Value()}
	if needs, known := r.needed(u, has); known {
		values.Needs = needs.Root().Value()
	}
	return values.Replaced(r.Target), nil
}

// needed returns the values of a release as the migration requires them.
func (r Planner) needed(u Upgrade, has *yamledit.Document) (*yamledit.Document, bool) {
	t := r.Target
	t.Values = has
	p, err := plan.Build(r.Format, transform.Only(u.Transition.From()), t)
	if err != nil {
		return nil, false
	}
	files, err := filesOf(p, filesAgain)
	if err != nil {
		return nil, false
	}
	needs, err := yamledit.ParseString(u.Action.Values, files[u.Action.Values])
	return needs, err == nil && needs.Root().IsMap()
}

// olderManager finds a cloud-controller-manager whose image is older than the cluster: one minor
// later it would be two minors older than kube-apiserver, which is not supported.
func (r Planner) olderManager(p *plan.Plan, seen *observed.Observation) []transform.Finding {
	rule := rules.CCMMinorSkew.Rule
	if slices.Contains(r.Target.Accept, rule.ID) {
		return nil
	}
	for _, d := range seen.DaemonSets {
		tag := k8s.ParseImage(d.Image).Tag
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
