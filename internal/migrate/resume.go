// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/transform/lists"
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

// Resumable is a migration of many clusters that waits for people and for times, and that is
// resumed by another process. Nothing of it is kept but how far its members are.
type Resumable struct {
	// Members are how far the clusters were; those that are not in it have not started.
	Members []Member
	// Again returns clusters that had ended and begin again, or end for another reason.
	Again func() []Member
	// Next decides what is next, in place of the limits of the fleet.
	Next func([]Member) transition.Turn
	// Gate is what keeps a stage of a wave from beginning now; nil if nothing does.
	Gate func(wave, stage string) *transition.Wait
	// Wake asks Next again.
	Wake <-chan struct{}
	// Rollback reports whether a cluster that fails is rolled back.
	Rollback func() bool
	// Slots bounds the runs of a process, by its capacity.
	Slots chan struct{}
}

// Gate ends a run before a stage that must not begin yet.
type Gate struct {
	Stage string
	Wait  transition.Wait
}

func (h *Gate) Error() string {
	switch h.Wait.Reason {
	case transition.ApprovalRequired:
		return "the stage " + h.Stage + " of the wave " + h.Wait.Wave + " is not approved yet"
	case transition.WindowClosed:
		return "the window is closed before the stage " + h.Stage
	}
	return "paused before the stage " + h.Stage
}

// beat lies between two decisions at most, which show that the migration is not stuck, and follow what has changed elsewhere.
const beat = time.Minute

// lockedPause lies between two attempts on a cluster that another run has locked, or that permissions are missing on.
const lockedPause = 10 * time.Second

// denialTime is for how long permissions may be missing: an API server that has just started does not know them yet.
const denialTime = time.Minute

// member is how far a cluster is at the beginning.
func (f *Fleet) member(cluster, wave string) *Member {
	if f.Resume != nil {
		if m, known := lists.Find(f.Resume.Members, func(m Member) bool { return m.Cluster == cluster }); known {
			m.left = false
			return &m
		}
	}
	return &Member{Cluster: cluster, Wave: wave, State: transition.Waiting}
}

func (r *fleet) next() transition.Turn {
	if r.Resume == nil {
		return transition.Policy{Limits: r.Limits}.Next(r.Waves, Progress(r.list()), time.Now())
	}
	for _, m := range r.Resume.Again() {
		*r.member(m.Cluster) = m
	}
	return r.Resume.Next(r.list())
}

// wait waits for news of the runs, and reports whether what is next has to be decided again.
func (r *fleet) wait(ctx context.Context, t transition.Turn) bool {
	var wake, interrupt <-chan struct{}
	var due <-chan time.Time
	if r.Resume != nil {
		wake = r.Resume.Wake
		if !r.running() {
			interrupt = ctx.Done()
		}
		pause := beat
		if t.Wait != nil && !t.Wait.Until.IsZero() {
			pause = min(pause, time.Until(t.Wait.Until))
		}
		due = time.After(pause)
	}
	select {
	case n := <-r.news:
		return r.receive(n)
	case <-wake:
	case <-due:
	case <-interrupt:
	}
	return true
}

// change is a run that has come to another state.
func (r *fleet) change(m *Member, n news) {
	gate := (*Gate)(nil)
	switch {
	case n.state == transition.Gated && errors.As(n.err, &gate):
		m.Stage, m.Waiting = gate.Stage, gate.Error()
	case n.over && n.state.Busy():
		m.left = true
		return
	case n.over:
		m.RolledBack = true
		r.end(m, n.err)
		return
	default:
		m.Err = n.err
	}
	m.State, m.Since = n.state, time.Now().UTC()
	r.notify(m, Event{Time: m.Since, Cluster: m.Cluster})
}

// resumed runs over a cluster. It returns the state that the cluster has come to: held, failed
// and rolled back, or the one in which an interrupt left it; else "", and why it failed.
func (r *fleet) resumed(ctx context.Context, cluster string, from transition.State) (transition.State, error) {
	select {
	case r.Resume.Slots <- struct{}{}:
		defer func() { <-r.Resume.Slots }()
	case <-ctx.Done():
		return from, context.Cause(ctx)
	}
	var o Options
	waits := func(why error) {
		r.news <- news{cluster: cluster, event: Event{Type: Awaited, Time: time.Now().UTC(), Cluster: cluster, Message: why.Error()}}
	}
	if err := retried(ctx, waits, func() (err error) { o, err = r.open(cluster); return err }); err != nil {
		if ctx.Err() != nil {
			return from, r.was(cluster)
		}
		return "", err
	}
	wave := r.member(cluster).Wave
	o.Confirm = func(_ context.Context, stage string) (bool, error) {
		if wait := r.Resume.Gate(wave, stage); wait != nil {
			return false, &Gate{stage, *wait}
		}
		return true, nil
	}
	failed := r.was(cluster)
	if from == transition.Running {
		failed = retried(ctx, waits, func() error { return Forward(ctx, o) })
		gate, end := (*Gate)(nil), (*End)(nil)
		switch {
		case ctx.Err() != nil && failed != nil:
			return transition.Running, failed
		case errors.As(failed, &gate):
			return transition.Gated, failed
		case failed == nil || !r.Resume.Rollback() || !errors.As(failed, &end) || end.Outcome.Revert == "": // or nothing is to be undone
			return "", failed
		}
		r.news <- news{cluster: cluster, state: transition.Reverting, err: failed}
	}
	o.Confirm, o.Until, o.CanaryService = nil, "", false
	switch err := retried(ctx, waits, func() error { return Backward(ctx, o) }); {
	case err != nil && ctx.Err() != nil:
		return transition.Reverting, failed
	case err != nil:
		return "", fmt.Errorf("%w\nthe rollback failed: %w", failed, err)
	}
	return transition.Failed, failed
}

// was is why a cluster failed that is being rolled back.
func (r *fleet) was(cluster string) error {
	m, _ := lists.Find(r.Resume.Members, func(m Member) bool { return m.Cluster == cluster })
	return cmp.Or(m.Err, errors.New("it failed before this run"))
}

// retried does something again while another run has the lock, and for a while if permissions are missing.
func retried(ctx context.Context, waits func(why error), do func() error) error {
	var end time.Time
	for {
		err := do()
		held, denied := (*Locked)(nil), (*kube.Denied)(nil)
		switch {
		case errors.As(err, &held):
			waits(held)
		case errors.As(err, &denied) && !denied.Expired && (end.IsZero() || time.Now().Before(end)):
			if end.IsZero() {
				end = time.Now().Add(denialTime)
			}
			waits(denied)
		default:
			return err
		}
		if !kube.Pause(ctx, lockedPause) {
			return context.Cause(ctx)
		}
	}
}

// Progress is how far members are, as a policy decides by it.
func Progress(list []Member) map[string]transition.Progress {
	seen := map[string]transition.Progress{}
	for _, m := range list {
		seen[m.Cluster] = transition.Progress{State: m.State, Stage: m.Stage, Since: m.Since}
	}
	return seen
}
