// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// check waits until the cluster shows what has to hold.
func (r *run) check(ctx context.Context, c stages.Check) error {
	choice := check.Choice{Check: c, Version: r.cluster.planner.Target.Version, Accept: r.Accept}
	var twice time.Time // since when two owners are seen; zero while they are not
	shown := false      // whether the findings were shown, which a rollback may need at once
	err := r.await(ctx, func(ctx context.Context) (condition, error) {
		seen, err := r.cluster.observer.Settled(ctx, func(o *observed.Observation) bool { return check.Unsettled(o, choice) }, r.Interval/4)
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
