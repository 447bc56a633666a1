// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
)

// run is a run under way.
type run struct {
	Options
	verb string

	cluster  *cluster
	progress *progress
	events   *events
	waiter   waiter
	writer   *writer
	cordon   *cordon
	helm     helm
	snapshot bool // etcd was snapshotted before the first write
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

// start connects to the cluster and runs.
func start(ctx context.Context, o Options, verb string) error {
	c, err := connect(o)
	if err != nil {
		return err
	}
	p := &progress{}
	e := &events{o.OnEvent, o.Object.Title(), p}
	w, waits := &writer{cluster: c, progress: p, events: e, user: o.User, verb: verb}, waiter{o.Timeout, o.Interval, e}
	r := &run{
		Options: o, verb: verb, cluster: c, progress: p, events: e, writer: w, waiter: waits,
		cordon: &cordon{cluster: c, writer: w, events: e}, helm: helm{c, w, waits},
	}
	return r.do(ctx)
}

// do looks whether the run may begin, and then works under the lock.
func (r *run) do(ctx context.Context) error {
	begin, err := r.preflight(ctx)
	if err != nil {
		return r.end(causeOf(ctx, err), begin)
	}
	err = r.withLock(ctx, func(ctx context.Context) error {
		if err := r.resume(ctx, begin); err != nil {
			return err
		}
		if err := r.stages(ctx, begin.stages); err != nil {
			return err
		}
		return r.link(ctx, begin.stages)
	})
	return r.end(err, begin)
}

// back reports whether stages are undone.
func (r *run) back() bool { return r.verb == rollbackVerb }

// stages goes through stages, each planned from the object as it is then.
func (r *run) stages(ctx context.Context, names []string) error {
	plan, finish := r.Planner.Forward, r.progress.add
	if r.back() {
		plan, finish = r.Planner.Backward, r.progress.remove
	}
	for _, name := range names {
		if err := r.stage(ctx, name, plan); err != nil {
			return err
		}
		finish(name)
	}
	return nil
}
