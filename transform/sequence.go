// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// MostPlans is more than there are minors between any two releases.
const MostPlans = 40

// Sequence plans the upgrade to a release that may be several minors away: the first plan is that of
// the documents, and each further one that of the result of the last. Without a release, or
// where it takes no more, it is one plan.
func Sequence(d Distro, docs []*yamledit.Document, target Target) ([]*Plan, error) {
	p, err := Build(d, docs, target)
	if err != nil || target.Version == "" {
		return []*Plan{p}, err
	}
	plans := []*Plan{p}
	for range MostPlans {
		if p, err = Build(d, p.End(), target); err != nil || !p.Left() {
			return plans, err
		}
		plans = append(plans, p)
	}
	return nil, docs[0].Root().Errorf(fmt.Sprintf("%d plans do not lead to %s", MostPlans, target.Version), "choose a release that is one minor later")
}

// End returns the documents after the last stage.
func (p *Plan) End() []*yamledit.Document {
	if len(p.Steps) == 0 {
		return p.Start
	}
	return p.Steps[len(p.Steps)-1].After()
}

// Complete reports whether no stage with an edit is left to do in a cluster, as far as its
// documents show.
func Complete(c Cluster) bool {
	o := withStages(c)
	for i := range o.stages {
		if _, edit, err := o.look(i, Choice{}); err != nil || edit != nil {
			return false
		}
	}
	return true
}
