// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/check"
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
	t, order := r.transition, "" // in which Rancher will change the machines, where that can be seen
	if t.Edits() {
		changes, err := r.Planner.Changes(t)
		if err != nil {
			return err
		}
		seen, err := r.Server.Rollout(ctx, r.Object)
		if err != nil {
			return err
		}
		order = rollout.OrderText(rollout.Order(seen, r.Planner.Format.Live.Roles, changes))
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

// Owned is for how many seconds the cloud controllers had so many owners.
type Owned struct {
	None    float64 `json:"none"`
	One     float64 `json:"one"`
	Two     float64 `json:"two"`
	Unknown float64 `json:"unknown"`
}

func (o Owned) String() string {
	return fmt.Sprintf("managers that ran the cloud controllers: none for %g s, one for %g s, two for %g s, unknown for %g s", o.None, o.One, o.Two, o.Unknown)
}

// ownersPause lies between two observations of who owns the cloud controllers. It is a fraction
// of every gap, and runs over many clusters look at as many at once.
const ownersPause = time.Second

// watched does the steps of a stage, and says who owned the cloud controllers in the
// meantime if the stage changes machines. It begins before the checks that come before the
// edit: until a lease has moved, it is unknown whether its holder is alive.
func (r *run) watched(ctx context.Context, steps ...func(context.Context) error) error {
	if !r.transition.Edits() {
		return inOrder(ctx, steps...)
	}
	owners := observe.Owners{Observer: r.observer.Another(), Given: r.Given}
	var intervals []check.Interval
	lost := false // the last observation failed, which stops no run
	watching, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			done, err := owners.Observe(watching)
			if watching.Err() != nil {
				return // it says nothing about the cluster
			}
			intervals, lost = append(intervals, done...), err != nil
			if !kube.Pause(watching, ownersPause) {
				return
			}
		}
	})
	err := inOrder(ctx, steps...)
	stop()
	ended.Wait()
	seconds, unknown := check.Seconds(append(intervals, owners.End(time.Now(), lost)...))
	o := Owned{tenths(seconds[0]), tenths(seconds[1]), tenths(seconds[2]), tenths(unknown)}
	r.emit(Event{Type: Watched, Message: o.String(), Owners: &o})
	return err
}

func tenths(seconds float64) float64 { return math.Round(seconds*10) / 10 }

// snapshotEtcd takes a snapshot before the first write of a run and before a stage
// that has one of its own, where the operator wants it. The object has changed then, so the stage is planned again.
func (r *run) snapshotEtcd(ctx context.Context) (err error) {
	t := r.transition
	if !r.EtcdSnapshot || r.snapshot && !(stages.Named(t.Step.Stage.Name).Snapshot && t.Edits()) {
		return nil
	}
	r.snapshot = true
	r.note("taking a snapshot of etcd")
	switch by := r.Planner.Format.Live.Snapshot.(type) {
	case transform.SnapshotByCluster:
		err = r.askForSnapshot(ctx, by)
	case transform.SnapshotByObject:
		err = r.backup(ctx, by)
	default:
		return nil
	}
	if err == nil {
		r.transition, err = r.planned(ctx, t.Step.Stage.Name)
	}
	return err
}

// askForSnapshot asks Rancher by the cluster's object.
func (r *run) askForSnapshot(ctx context.Context, ask transform.SnapshotByCluster) error {
	var number int64
	asked := func(ctx context.Context) (c change, err error) {
		if c.before, err = r.read(ctx); err == nil {
			c.after, number, err = ask(c.before)
		}
		return c, err
	}
	c, err := asked(ctx)
	if err != nil {
		return err
	}
	if err := r.patch(ctx, actSnapshot, c, asked, func(transition.Edit) {}); err != nil {
		return err
	}
	failed := failures{}
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		seen, err := r.Server.Rollout(ctx, r.Object)
		if err != nil {
			return condition{}, err
		}
		failed.note(seen.Tries(), r.note)
		taken, err := transition.SnapshotTaken(seen, number)
		return condition{done: taken, waiting: "Rancher has not created the etcd snapshot yet"}, err
	})
}

// backup makes an object of its own, as Rancher's own button does.
func (r *run) backup(ctx context.Context, by transform.SnapshotByObject) error {
	now, err := r.Server.Get(ctx, r.Object)
	if err != nil {
		return err
	}
	o := Ref{Server: local, Kind: by.Kind, Namespace: r.Object.Home(), Name: r.Object.ID + "-rke-lm-" + strings.ToLower(uuid.NewString()[:8])}
	body, err := by.Make(now.Raw, r.Object.ID, r.Object.UID, o.Name)
	if err != nil {
		return err
	}
	err = r.write(ctx, actSnapshot, o, sum(body), func(ctx context.Context) error {
		_, err := r.request(ctx, o, kube.Request{Method: http.MethodPost, Body: body})
		if kube.Exists(err) { // the name is unique, so an earlier try has made it
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		a, err := r.request(ctx, o, kube.Request{Method: http.MethodGet})
		if err != nil {
			return condition{}, err
		}
		waiting, err := by.Taken(a.Body)
		return condition{done: waiting == "" && err == nil, waiting: waiting}, err
	})
}
