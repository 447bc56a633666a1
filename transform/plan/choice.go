// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Choice says which stages are to be applied: Stage alone, Stage and all before
// it that are not done (Through), or the first that is not done (Next).
type Choice struct {
	Stage   string
	Through bool
	Next    bool
}

// names reports whether the choice is this very stage and no other.
func (c Choice) names(stage string) bool { return c.Stage == stage && !c.Through && !c.Next }

// ends reports whether the choice needs no step after this one.
func (c Choice) ends(s Step) bool {
	return c.Next && s.Left() || !c.Next && s.Stage.Name == c.Stage
}

// Choose returns the steps that a choice applies, in their order; none when
// nothing is left to do. It fails with *Conflict when another stage comes first,
// with *ManualStagePending when that is a manual one, also where no edit is left, and for
// a stage that the plan does not have.
func (p *Plan) Choose(c Choice) ([]Step, error) {
	steps, err := p.choose(c)
	if err != nil {
		return nil, err
	}
	if err := p.pending(steps, c); err != nil {
		return nil, err
	}
	return steps, nil
}

func (p *Plan) choose(c Choice) ([]Step, error) {
	if _, err := p.Named(c.Stage); err != nil && !c.Next {
		return nil, err
	}
	var left []Step
	for _, s := range p.Steps {
		if s.Left() {
			left = append(left, s)
		}
		switch {
		case c.Next && len(left) == 1:
			return left, nil
		case c.Next || s.Stage.Name != c.Stage:
			continue
		case c.Through || len(left) == 1 && s.Left():
			return left, nil
		case !s.Left():
			return nil, nil
		}
		return nil, comesBefore(p.Start[0].File(), left[0].Stage.Name, c.Stage)
	}
	return nil, nil
}

// Named returns the step of a stage, and fails for one that the operator's choices
// leave out.
func (p *Plan) Named(stage string) (Step, error) {
	s, has := p.Step(stage)
	if !has {
		return s, notAmong(stage)
	}
	return s, nil
}

// notAmong refuses a stage that the operator's choices leave out.
func notAmong(stage string) error {
	return fmt.Errorf("the plan of this cluster has no stage %s: it has none of leader migration with --no-leader-migration, or at Kubernetes 1.27 or later, and those of an upgrade with --target-version alone, once it is migrated; use a stage that rke-lm plan lists", stage)
}

func comesBefore(file, first, stage string) error {
	return &transform.Conflict{At: &yamledit.Error{
		File: file, What: fmt.Sprintf("%s comes before %s and is not done", first, stage), Do: "apply it first, or add --through",
	}}
}

func comesAfter(file, last, stage string) error {
	return &transform.Conflict{At: &yamledit.Error{
		File: file, What: fmt.Sprintf("%s comes after %s and is still in the file", last, stage), Do: "undo it first, or add --through",
	}}
}
