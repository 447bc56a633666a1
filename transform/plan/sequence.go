// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// MostPlans is more than there are minors between any two releases.
const MostPlans = 40

// Sequence plans the upgrade to a release that may be several minors away: the first plan is that of
// the documents, and each further one that of the result of the last. Without a release, or
// where it takes no more, it is one plan.
func Sequence(d transform.Format, docs []*yamledit.Document, target transform.Target) ([]*Plan, error) {
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
func Complete(c transform.Cluster) bool {
	o := &opened{c, c.Stages()}
	for i := range o.stages {
		if _, edit, err := o.evaluate(i, Choice{}); err != nil || edit != nil {
			return false
		}
	}
	return true
}

// StayDone requires of the documents after steps that none of these is left to do: each
// was proven before, and a later one may have removed its result. The documents
// are opened as the next run opens them, which decides on their situation again.
func StayDone(d transform.Format, steps []Step, target transform.Target) error {
	if len(steps) == 0 {
		return nil
	}
	last := steps[len(steps)-1]
	c, err := last.reopened(d, target)
	if err != nil {
		return err
	}
	for _, name := range namesOf(steps) {
		i := slices.IndexFunc(c.stages, func(s transform.Listed) bool { return s.Name == name })
		if i < 0 {
			continue
		}
		switch _, edit, err := c.evaluate(i, Choice{}); {
		case err != nil:
			return err
		case edit != nil:
			return c.Documents()[0].Root().Errorf(fmt.Sprintf("stage %s would still be to do after the edit", name), "nothing was written; check the document for a contradicting value, and make this change manually")
		}
	}
	return nil
}

// reopened opens the documents after a step. Where the operator's choice means the same
// for them as for those before, the cluster is the one that the step was proven on.
func (s Step) reopened(d transform.Format, target transform.Target) (*opened, error) {
	c, err := d.Open(s.After(), target)
	if err != nil {
		return nil, err
	}
	same := func(a, b transform.Target) bool {
		a.Before, b.Before = nil, nil
		return reflect.DeepEqual(a, b)
	}
	if s.result != nil && same(c.Chosen(), s.result.Chosen()) {
		return s.result, nil
	}
	return &opened{c, c.Stages()}, nil
}

// mostFixes bounds a repair; no file comes near it.
const mostFixes = 1000

// Repair makes the mechanical fixes of a cluster, one after the other, and names
// the rules of those that it made. Each is proven by its edit, and kept only when
// the cluster can still be read and its rule finds less than before. What no fix
// corrects stays as it is.
func Repair(d transform.Format, c transform.Cluster, target transform.Target) (transform.Cluster, []string) {
	var made []string
	for range mostFixes {
		next, rule := repairOne(d, c, target)
		if next == nil {
			break
		}
		c, made = next, append(made, rule)
	}
	return c, made
}

// repairOne returns the cluster after the first fix that works, or nil.
func repairOne(d transform.Format, c transform.Cluster, target transform.Target) (transform.Cluster, string) {
	f, ok := c.(transform.Fixer)
	if !ok {
		return nil, ""
	}
	before := count(c)
	for _, fix := range f.Fixes() {
		e := c.Documents()[0].Edit()
		fix.Queue(e)
		fixed, err := revise(c.Documents(), e)
		if err != nil {
			continue
		}
		after, _ := d.Lint(Step{Documents: fixed}.After(), target)
		if after != nil && count(after)[fix.Rule] < before[fix.Rule] {
			return after, fix.Rule
		}
	}
	return nil, ""
}

// count returns how often each rule finds something.
func count(c transform.Cluster) map[string]int {
	n := map[string]int{}
	for _, f := range c.Findings("") {
		n[f.Rule]++
	}
	return n
}
