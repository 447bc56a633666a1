// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// condition is how far something is that a run waits for.
type condition struct {
	done     bool
	waiting  string
	machines []rollout.MachineProgress
	findings []transform.Finding
}

// awaitSeen looks at the cluster until what is waited for is there.
func (r *run) awaitSeen(ctx context.Context, at func(*observed.Observation) (condition, error)) error {
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		seen, err := r.observer.Observe(ctx)
		if err != nil {
			return condition{}, err
		}
		return at(seen)
	})
}

// await looks until what is waited for is there. A server that does not answer may
// come back: that is waited for as well.
func (r *run) await(ctx context.Context, at func(context.Context) (condition, error)) error {
	end, last := time.Now().Add(r.Timeout), ""
	for {
		found, err := at(ctx)
		var lost *kube.Unreached
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &lost):
			found = condition{waiting: lost.Error()}
		case err != nil:
			return err
		case found.done:
			return nil
		}
		if text := fmt.Sprint(found.waiting, found.machines); text != last {
			last = text
			r.emit(Event{Type: Awaited, Message: found.waiting, Machines: found.machines})
		}
		if time.Now().Add(r.Interval).After(end) {
			late := errors.New(found.waiting)
			if r.Timeout != 0 {
				late = fmt.Errorf("not complete within %s (--timeout): %s", r.Timeout, found.waiting)
			}
			return &endedBy{late, found.findings}
		}
		if !kube.Pause(ctx, r.Interval) {
			return context.Cause(ctx)
		}
	}
}

// errOvertaken means that someone else changed the object.
var errOvertaken = transform.NewError(transform.ExitRefused, "another user changed the object during the stage; check the change with rke-lm plan, and run the command again")

// settle waits until every machine has what the object says. The rendered
// configurations prove it; the conditions of the object are copies.
func (r *run) settle(ctx context.Context) error {
	wanted, err := r.wanted()
	if err != nil {
		return err
	}
	failed := failures{}
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		p, err := r.rollout(ctx, wanted)
		if err != nil {
			return condition{}, err
		}
		failed.note(p.Machines, r.note)
		if p.Failed != "" {
			return condition{}, errors.New(p.Failed)
		}
		return condition{done: p.Done, waiting: p.Waiting, machines: p.Machines}, nil
	})
}

// rollout looks how far the last change has come. Someone who changed the object
// meanwhile ends the run.
func (r *run) rollout(ctx context.Context, wanted rollout.Wanted) (rollout.Progress, error) {
	now, err := r.Server.Get(ctx, r.Object)
	if err != nil {
		return rollout.Progress{}, err
	}
	var object map[string]any
	_ = json.Unmarshal(now.Raw, &object) // a Cluster, else it was not read
	if rollout.Overtaken(object, wanted) {
		return rollout.Progress{}, errOvertaken
	}
	seen, err := r.Server.Rollout(ctx, now)
	return rollout.Evaluate(seen, wanted), err
}

// failures are what was said of machines whose plans fail, by their names.
type failures map[string]string

// note says a failure once, and again when a later try prints something else: what
// is waited for is drawn over, and the reason has to stay.
func (f failures) note(machines []rollout.MachineProgress, emit func(string)) {
	for _, m := range machines {
		if m.Failures == 0 {
			delete(f, m.Name)
			continue
		}
		if before, known := f[m.Name]; !known || before != m.Output {
			f[m.Name] = m.Output
			emit(m.Failure())
		}
	}
}

// check waits until the cluster shows what has to hold.
func (r *run) check(ctx context.Context, c stages.Check) error {
	choice := check.Choice{Check: c, Version: r.Planner.Target.Version, Accept: r.Planner.Target.Accept}
	var twice time.Time // since when two owners are seen; zero while they are not
	shown := false      // whether the findings were shown, which a rollback may need at once
	err := r.await(ctx, func(ctx context.Context) (condition, error) {
		seen, err := r.observer.Settled(ctx, choice, r.Interval/4)
		if err != nil {
			return condition{}, err
		}
		open := check.Evaluate(seen, choice).Unmet()
		if transition.Permanent(open) {
			return condition{}, &endedBy{errors.New("waiting does not help: " + firstOf(open)), open}
		}
		switch {
		case !transition.TwoOwners(open):
			twice = time.Time{}
		case twice.IsZero():
			twice = time.Now()
		case time.Since(twice) >= ownersTime:
			return condition{}, &endedBy{errors.New("both managers run the cloud controllers, so the run does not wait: " + firstOf(open)), open}
		}
		if len(open) == 0 {
			r.cordon.noteReleased(seen)
		} else if c.NodesOnly && !shown {
			shown = true
			r.noteFindings(open)
		}
		return condition{done: len(open) == 0, waiting: firstOf(open), findings: open}, nil
	})
	if err == nil && !c.NodesOnly {
		r.emit(Event{Type: Checked, Message: "the checks of the stage passed"})
	}
	return err
}

// ownersTime is for how long two owners may be seen: somewhat longer than a lease
// outlives its holder.
const ownersTime = 30 * time.Second

// firstOf names the first of some findings.
func firstOf(findings []transform.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	text := redact.Text(findings[0].Path) + ": " + redact.Text(findings[0].Message)
	if more := len(findings) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}
