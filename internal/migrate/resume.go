// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"

	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// resume brings a cluster on which a run ended somewhere to where the next stage
// begins. On a cluster that no run has touched it only keeps the snapshot.
func (r *run) resume(ctx context.Context) error {
	if err := r.cordon.uncordonNodes(ctx); err != nil {
		return err
	}
	if r.back() {
		return nil // what does not come forward may be the reason to go back
	}
	return inOrder(ctx, r.resumeRegistration, r.resumeStage, r.keepSnapshot)
}

// resumeStage waits for the stage that was done last.
func (r *run) resumeStage(ctx context.Context) error {
	last := r.progress.last()
	if last == "" {
		return nil
	}
	r.progress.stage = last
	if err := r.settle(ctx); err != nil {
		return err
	}
	return r.check(ctx, stages.After(last, r.plan.Target))
}

// keepSnapshot keeps what must not change, from before the first stage.
func (r *run) keepSnapshot(ctx context.Context) error {
	if r.seen.Before != nil {
		return nil
	}
	s := r.seen.Snapshot(check.Reached(r.seen))
	err := r.write(ctx, actKeep, r.own("ConfigMap", kubeSystem, observe.SnapshotName), "", func(ctx context.Context) error { return r.observer.KeepSnapshot(ctx, s) })
	if errors.Is(err, observe.ErrKept) {
		return nil
	}
	return err
}

const kubeSystem = "kube-system"

// concludeEarlier writes the results of acts whose run was killed after them, as the
// cluster shows them.
func (r *run) concludeEarlier(ctx context.Context, open []Entry) error {
	for _, e := range open {
		var err error
		if e.Result, err = r.found(ctx, e); err != nil {
			return err
		}
		if err := r.conclude(ctx, e); err != nil {
			return err
		}
		r.note("an earlier run was killed at " + e.Act + " " + e.Object.String() + ": " + e.Result)
	}
	return nil
}

// found looks what became of an act.
func (r *run) found(ctx context.Context, e Entry) (string, error) {
	switch e.Act {
	case actPatch:
		return r.foundStage(ctx, e)
	case actCordon, actRelease:
		node, err := r.node(ctx, e.Object.Name)
		if err != nil || node == nil {
			return foundUnknown, err
		}
		return asFound(transition.Marked(node, r.cordon.mark) == (e.Act == actCordon)), nil
	case actApply, actDelete, actKeep:
		there, err := r.exists(ctx, e.Object)
		return asFound(there == (e.Act != actDelete)), err
	}
	return foundUnknown, nil
}

// foundStage reads off the object whether a stage is in it.
func (r *run) foundStage(ctx context.Context, e Entry) (string, error) {
	p, err := r.planNow(ctx)
	if err != nil {
		return "", err
	}
	done, err := r.Planner.InEffect(p, e.Stage)
	if err != nil {
		return foundUnknown, nil // with other choices the object cannot be read so
	}
	return asFound(done == (e.Verb == migrateVerb)), nil
}

func asFound(done bool) string {
	if done {
		return foundDone
	}
	return foundNotDone
}
