// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

// Migrate goes through the stages that are left. It fails with *End, which says
// what is done and how to go on.
func (r *Run) Migrate(ctx context.Context) error {
	r.verb = migrateVerb
	return r.conduct(ctx, r.forth)
}

// Rollback takes stages back, the last one first. It fails as Migrate does.
func (r *Run) Rollback(ctx context.Context) error {
	r.verb = rollbackVerb
	return r.conduct(ctx, r.back)
}

// conduct puts what every run needs around its work.
func (r *Run) conduct(ctx context.Context, work func(context.Context, *start) error) error {
	if err := r.connect(); err != nil {
		return err
	}
	begun, err := r.preflight(ctx)
	if err != nil {
		return r.end(whyEnded(ctx, err), begun)
	}
	err = r.locked(ctx, func(ctx context.Context) error {
		if err := r.resume(ctx, begun); err != nil {
			return err
		}
		return work(ctx, begun)
	})
	return r.end(err, begun)
}

func (r *Run) connect() error {
	client, err := r.Server.Downstream(r.Object.ID)
	if err != nil {
		return err
	}
	r.observer = &observe.Observer{Client: client}
	return nil
}

// forth goes through the stages, each planned from the object as it is then.
func (r *Run) forth(ctx context.Context, begun *start) error {
	for _, name := range begun.names {
		if err := r.leg(ctx, name, r.Planner.Forward); err != nil {
			return err
		}
		if !slices.Contains(r.done, name) { // an earlier run may have done it
			r.done = append(r.done, name)
		}
	}
	return nil
}

// back goes through them the other way.
func (r *Run) back(ctx context.Context, begun *start) error {
	for _, name := range begun.names {
		if err := r.leg(ctx, name, r.Planner.Backward); err != nil {
			return err
		}
		r.done = slices.DeleteFunc(r.done, func(s string) bool { return s == name })
	}
	return nil
}

// planning makes a leg of a stage.
type planning = func(*transform.Plan, string, *observed) (route.Transition, error)

// leg goes through one stage.
func (r *Run) leg(ctx context.Context, name string, plan planning) error {
	r.stage, r.edited = name, route.NotWritten
	l, err := r.planned(ctx, name, plan)
	if err != nil {
		return err
	}
	if l.Empty() {
		return r.finish(ctx, l)
	}
	if err := r.agree(ctx, l); err != nil {
		return err
	}
	if err := r.check(ctx, l.Precheck); err != nil {
		return err
	}
	taken, err := r.snapshotEtcd(ctx, l)
	if err == nil && taken { // the object has changed
		l, err = r.planned(ctx, name, plan)
	}
	if err == nil {
		err = r.act(ctx, l, plan)
	}
	if err == nil {
		err = r.check(ctx, l.Check)
	}
	return err
}

// planned makes the leg of a stage from how things stand now.
func (r *Run) planned(ctx context.Context, name string, plan planning) (route.Transition, error) {
	p, err := r.plan(ctx)
	if err != nil {
		return route.Transition{}, err
	}
	seen, err := r.observer.Look(ctx)
	if err != nil {
		return route.Transition{}, err
	}
	return plan(p, name, seen)
}

// finish is for a stage without anything to do. The last one of a migration is
// made of checks alone.
func (r *Run) finish(ctx context.Context, l route.Transition) error {
	if l.Back || l.Stage != transform.VerifyProviderIDs {
		return nil
	}
	return r.check(ctx, l.Check)
}

// agree shows a stage and asks whether to go on with it.
func (r *Run) agree(ctx context.Context, l route.Transition) error {
	order, err := r.order(ctx, l)
	if err != nil {
		return err
	}
	said := []string{l.Why, l.Caution, order}
	if l.Back {
		said = slices.Insert(said, 0, "Takes the stage back.")
	}
	said = slices.DeleteFunc(said, func(s string) bool { return s == "" })
	e := report.RunEvent{Type: report.Staged, Message: strings.Join(said, " "), Prepare: report.Actions(l.Prepare), Actions: report.Actions(slices.Concat(l.Before, l.After)), Findings: report.Findings(l.Findings)}
	if l.Edits() {
		e.Diff = report.Diff(l.From, l.To)
	}
	r.say(e)
	if l.Blocked {
		return &blocked{l.Stage, l.Findings}
	}
	if r.Confirm == nil {
		return nil
	}
	yes, err := r.Confirm(ctx, l.Stage)
	if err == nil && !yes {
		err = errDeclined
	}
	return err
}

// order says in which order Rancher will change the machines, where that can be seen.
func (r *Run) order(ctx context.Context, l route.Transition) (string, error) {
	if !l.Edits() {
		return "", nil
	}
	changes, err := r.Planner.Changes(l)
	if err != nil {
		return "", err
	}
	seen, err := r.Server.Rollout(ctx, r.Object)
	if err != nil {
		return "", err
	}
	return rollout.Said(rollout.Order(seen, r.Planner.Distro.Live.Roles, changes)), nil
}

// act does what a stage does, in its order.
func (r *Run) act(ctx context.Context, l route.Transition, plan planning) error {
	if err := r.doAll(ctx, l, l.Before); err != nil {
		return err
	}
	if l.Edits() {
		if err := r.edit(ctx, l, plan); err != nil {
			return err
		}
	}
	return r.doAll(ctx, l, l.After)
}

// doAll carries actions out, one after the other.
func (r *Run) doAll(ctx context.Context, l route.Transition, actions []transform.Action) error {
	for _, a := range actions {
		if err := r.do(ctx, l, a); err != nil {
			return err
		}
	}
	return nil
}
