// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// stage goes through one stage.
func (r *run) stage(ctx context.Context, name string) (err error) {
	r.progress.enter(name)
	if r.transition, err = r.planned(ctx, name); err != nil {
		return err
	}
	switch {
	case !r.transition.Empty():
		return r.watched(ctx, r.agree, r.precheck, r.snapshotEtcd, r.actBefore, r.edit, r.actAfter, r.postcheck)
	case !r.back() && stages.Named(name).ChecksAlone: // the last one of a migration
		return r.postcheck(ctx)
	}
	return nil
}

// precheck waits until what has to hold before the stage does, and postcheck for what has to hold after it.
func (r *run) precheck(ctx context.Context) error  { return r.check(ctx, r.transition.Precheck) }
func (r *run) postcheck(ctx context.Context) error { return r.check(ctx, r.transition.Check) }

// actBefore carries out the actions before the edit, and actAfter those after it.
func (r *run) actBefore(ctx context.Context) error {
	return forEach(ctx, r.transition.Step.Stage.Before, r.action)
}
func (r *run) actAfter(ctx context.Context) error {
	return forEach(ctx, r.transition.Step.Stage.After, r.action)
}

// planned makes the transition of a stage from how things are now.
func (r *run) planned(ctx context.Context, name string) (transition.Transition, error) {
	p, err := r.planNow(ctx)
	if err != nil {
		return transition.Transition{}, err
	}
	seen, err := r.observer.Observe(ctx)
	if err != nil {
		return transition.Transition{}, err
	}
	return r.Planner.Plan(p, name, r.back(), seen)
}

// agree shows a stage and asks whether to continue with it.
func (r *run) agree(ctx context.Context) error {
	t := r.transition
	order, err := r.order(ctx, t)
	if err != nil {
		return err
	}
	r.emit(announcement(t, order))
	if t.Step.State == plan.Blocked {
		return blockedBy(t.Step.Stage.Name, transform.Stopping(t.Step.Findings), r.Planner.Format.Rules)
	}
	if r.Confirm == nil {
		return nil
	}
	yes, err := r.Confirm(ctx, t.Step.Stage.Name)
	if err == nil && !yes {
		err = errDeclined
	}
	return err
}

// errDeclined ends a run whose user does not want a stage.
var errDeclined = errors.New("not confirmed")

// announcement is what a stage will do, and in which order the machines change.
func announcement(t transition.Transition, order string) Event {
	texts := []string{t.Step.Stage.Why, t.Step.Stage.Caution, order}
	if t.Back {
		texts = slices.Insert(texts, 0, "Undoes the stage.")
	}
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	e := Event{Type: Staged, Message: strings.Join(texts, " "), Prepare: t.Step.Stage.Prepare.Actions, Actions: slices.Concat(t.Step.Stage.Before, t.Step.Stage.After), Findings: t.Step.Findings}
	if t.Edits() {
		e.From, e.To = t.From(), t.To()
	}
	return e
}

// order reports in which order Rancher will change the machines, where that can be seen.
func (r *run) order(ctx context.Context, t transition.Transition) (string, error) {
	if !t.Edits() {
		return "", nil
	}
	changes, err := r.Planner.Changes(t)
	if err != nil {
		return "", err
	}
	seen, err := r.Server.Rollout(ctx, r.Object)
	if err != nil {
		return "", err
	}
	return rollout.OrderText(rollout.Order(seen, r.Planner.Format.Live.Roles, changes)), nil
}

// edit writes the stage's document and waits until every machine has it.
func (r *run) edit(ctx context.Context) error {
	t := r.transition
	if !t.Edits() {
		return nil
	}
	again := func(ctx context.Context) (change, error) {
		t, err := r.planned(ctx, t.Step.Stage.Name)
		if err != nil {
			return change{}, err
		}
		return change{t.From(), t.To()}, nil
	}
	if err := r.patch(ctx, actPatch, change{t.From(), t.To()}, again, func(e transition.Edit) { r.progress.edit = e }); err != nil {
		return err
	}
	return r.settle(ctx)
}
