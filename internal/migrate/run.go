// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	"github.com/rke-lm/rke-lm/transform"
)

// run is a run in progress.
type run struct {
	Options
	verb string

	cluster  *cluster
	progress *progress
	events   *events
	writer   *writer
	cordon   *cordon
	helm     helm
	canary   *canaryService
	from     beginning
	snapshot bool // etcd was snapshotted before the first write
}

// beginning is what a run begins from.
type beginning struct {
	plan     *transform.Plan // nil if the cluster's object cannot be planned
	stages   []string        // to go through, in their order
	seen     *observed
	position string // the last stage that is done
}

// The verbs, as the audit log has them.
const (
	migrateVerb  = "migrate"
	rollbackVerb = "rollback"
)

// Forward goes through the stages that are left. It fails with *End, which says what
// is done and how to continue.
func Forward(ctx context.Context, o Options) error { return start(ctx, o, migrateVerb) }

// Backward takes stages back, the last one first. It fails as Forward does.
func Backward(ctx context.Context, o Options) error { return start(ctx, o, rollbackVerb) }

// start runs, and once more for each minor towards a later release: every minor is checked
// as a run of its own is.
func start(ctx context.Context, o Options, verb string) error {
	for range transform.MostPlans {
		r, err := newRun(o, verb)
		if err != nil {
			return err
		}
		if err := r.do(ctx); err != nil {
			return err
		}
		if more, err := r.more(ctx, o.Planner.Target); err != nil || !more {
			return err
		}
	}
	return nil
}

// more reports whether the chosen release takes another run.
func (r *run) more(ctx context.Context, chosen transform.Target) (bool, error) {
	if r.back() || r.Until != "" || chosen.Version == "" {
		return false, nil
	}
	r.cluster.planner.Target = chosen
	p, err := r.cluster.plan(ctx)
	return err == nil && p.Left(), err
}

// keepStep keeps the release of a plan for the whole run: towards a later one, each minor
// is a run of its own.
func (r *run) keepStep(p *transform.Plan) {
	r.Planner.Target.Version, r.Planner.Target.Upgrade = p.Target.Version, p.Target.Upgrade
	r.cluster.planner = r.Planner
}

// newRun connects to the cluster.
func newRun(o Options, verb string) (*run, error) {
	c, err := connect(o)
	if err != nil {
		return nil, err
	}
	p := &progress{}
	e := &events{o.OnEvent, o.Object.Title(), p}
	w := &writer{cluster: c, progress: p, events: e, user: o.User, verb: verb, permit: o.Permit}
	r := &run{Options: o, verb: verb, cluster: c, progress: p, events: e, writer: w}
	r.cordon, r.helm, r.canary = &cordon{run: r}, helm{r}, &canaryService{run: r}
	return r, nil
}

// do looks whether the run may begin, and then works under the lock.
func (r *run) do(ctx context.Context) error {
	if err := r.preflight(ctx); err != nil {
		return r.end(causeOf(ctx, err))
	}
	return r.end(r.withLock(ctx, func(ctx context.Context) error {
		return inOrder(ctx, r.resume, r.canary.begin, r.stages, r.link, r.canary.prove)
	}))
}

// inOrder does one step after the other, until one fails.
func inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// back reports whether stages are undone.
func (r *run) back() bool { return r.verb == rollbackVerb }

// stages goes through stages, each planned from the object as it is then.
func (r *run) stages(ctx context.Context) error {
	plan, finish := r.Planner.Forward, r.progress.add
	if r.back() {
		plan, finish = r.Planner.Backward, r.progress.remove
	}
	for _, name := range r.from.stages {
		if err := r.stage(ctx, name, plan); err != nil {
			return err
		}
		finish(name)
	}
	return nil
}
