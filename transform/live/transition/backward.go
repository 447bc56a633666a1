// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// RollbackOrder lists the stages to undo, the last one first, down to the one
// after which the rollback ends; "" for before all.
func RollbackOrder(p *plan.Plan, to string) ([]string, error) {
	if to != "" {
		if _, err := p.Named(to); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, s := range slices.Backward(p.Steps) {
		if s.Stage.Name == to {
			break
		}
		names = append(names, s.Stage.Name)
	}
	return names, nil
}

// Backward returns the transition that takes a stage back, as things are in the object
// and in what was seen of the cluster. It fails with *transform.Conflict where the
// object does not show what was there before the stage.
func (r Planner) Backward(p *plan.Plan, stage string, seen *observed.Observation) (Transition, error) {
	step, err := p.Named(stage)
	if err != nil {
		return Transition{}, err
	}
	files, err := filesOf(p, filesAgain)
	if err != nil {
		return Transition{}, err
	}
	l := Transition{Stage: stage, Back: true, Why: stages.UndoGap(p.Target, stage), From: p.Start[0], To: p.Start[0], Files: files, Snapshot: stages.Named(stage).Snapshot, Precheck: stages.Check{NodesOnly: true}, Check: stages.Undone(stage, p.Target)}
	if step.Stage.Edit == nil {
		if stages.Undoable(stage, shown(p, step, files, seen)) {
			l.Before, l.After = step.Stage.UndoBefore, step.Stage.UndoAfter
		}
		return l, nil
	}
	folds := r.foldsBack(p)
	if folds && stages.Named(stage).With == "" {
		return l, nil
	}
	steps, err := plan.Undo(r.Format, p.Start, p.Target, stage, folds)
	if err != nil || len(steps) == 0 {
		return l, err
	}
	l.To, l.Caution = steps[len(steps)-1].Documents[0].After, step.Stage.Caution
	l.Before, l.After = step.Stage.UndoBefore, step.Stage.UndoAfter
	return l, nil
}

// foldsBack reports whether the switch is undone together with the chart, as it
// was made: both are edits, and both are to go.
func (r Planner) foldsBack(p *plan.Plan) bool {
	return r.To == "" && slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return together(p.Target, s.Stage.Name) && s.Stage.Edit != nil })
}

// filesAgain are the files of a stage as they would be made again.
func filesAgain(s plan.Step) ([]transform.File, error) {
	if s.Stage.Files == nil {
		return nil, nil
	}
	return s.Stage.Files()
}

// CheckRollback refuses a rollback that cannot be completed: where there is no
// in-tree provider any more, or where the object does not show enough.
func (r Planner) CheckRollback(p *plan.Plan, names []string, seen *observed.Observation) error {
	version := seen.Version
	if !k8s.From(version, k8s.FirstWithout) {
		version = p.Cluster.Version
	}
	if err := stages.CheckUndo(p, names, version); err != nil {
		return err
	}
	last := ""
	for _, name := range names {
		if s, _ := p.Step(name); s.Stage.Edit != nil {
			last = name
		}
	}
	if last == "" {
		return nil
	}
	_, err := plan.Undo(r.Format, p.Start, r.Target, last, true)
	return err
}
