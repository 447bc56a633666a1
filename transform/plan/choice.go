// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
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
	if err == nil {
		err = p.pending(steps, c)
	}
	return steps, err
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
		return nil, transform.ConflictIn(p.Start[0].File(), left[0].Stage.Name+" comes before "+c.Stage+" and is not done", "apply it first, or add --through")
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

func comesAfter(file, last, stage string) error {
	return transform.ConflictIn(file, last+" comes after "+stage+" and is still in the file", "undo it first, or add --through")
}

// ManualStagePending means that a stage was not applied, because another one comes first
// that is done by hand and does not show in the file.
type ManualStagePending struct {
	Manual Step
	Alone  bool // no edit is left
	At     *yamledit.Error
}

func (e *ManualStagePending) Error() string { return e.At.Error() }

// ExitCode is that of a stage that is left to do.
func (e *ManualStagePending) ExitCode() transform.ExitCode { return transform.ExitFound }

// Unwrap gives access to the place.
func (e *ManualStagePending) Unwrap() error { return e.At }

// pending fails with *ManualStagePending where a choice that picks stages by itself would
// apply one after a manual one that is not confirmed, or where only such ones are left. A stage
// that errors block is not applied anyway.
func (p *Plan) pending(chosen []Step, c Choice) error {
	if !c.Next && !c.Through {
		return nil
	}
	names := namesOf(chosen)
	for i, s := range p.Steps {
		if s.Count != CountManual {
			continue
		}
		what, do := " is left", "do it manually, check it, and confirm it with --manual-done "+s.Stage.Name
		if s.State == NotInFile {
			do = action.Command("rke-lm plan --stage %s", s.Stage.Name) + " shows what to check; if a manager runs, accept it with --accept " + RuleNotInFile
		}
		after, follows := lists.Find(p.Steps[i+1:], func(s Step) bool { return s.State != Blocked && slices.Contains(names, s.Stage.Name) })
		switch {
		case s.State != NotInFile && follows:
			what = " comes before " + after.Stage.Name
		case !c.Next || len(chosen) > 0:
			continue
		}
		return &ManualStagePending{s, len(chosen) == 0, &yamledit.Error{File: p.Start[0].File(), What: s.Stage.Name + what + ", and the file does not show whether it is done", Do: do}}
	}
	return nil
}

// Passed lists the stages that someone does by hand and that a choice passes: those between the chosen ones, and
// after the last edit of all, unless the plan was cut. Those that are confirmed are left out.
func (p *Plan) Passed(chosen []Step, c Choice) []Step {
	if len(chosen) == 0 || !c.Next && !c.Through {
		return nil
	}
	names := namesOf(chosen)
	var out, since []Step
	last := false // the last edit so far was chosen
	for _, s := range p.Steps {
		switch {
		case s.State == ActionOnly && len(s.Stage.After) > 0 && !slices.Contains(p.Target.ManualDone, s.Stage.Name):
			since = append(since, s)
		case s.State == ActionOnly || s.State == NotInFile:
		default:
			if last = slices.Contains(names, s.Stage.Name); last {
				out = append(out, since...)
			}
			since = nil
		}
	}
	if last && !p.cut {
		out = append(out, since...)
	}
	return out
}

func namesOf(steps []Step) []string {
	return lists.Map(steps, func(s Step) string { return s.Stage.Name })
}
