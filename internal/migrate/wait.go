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
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/live/verify"
)

// state is what a look at something that is waited for found.
type state struct {
	done     bool
	waiting  string
	machines []report.RunMachine
	findings []transform.Finding
}

// errOvertaken says that somebody else changed the object.
var errOvertaken = exitcode.New(exitcode.Refused, "somebody else changed the object while the stage was under way; look at the change with rke-lm plan, and run the command again")

// late says that something did not come in time.
type late struct {
	what     string
	after    time.Duration
	findings []transform.Finding
}

func (l *late) Error() string {
	if l.after == 0 {
		return l.what
	}
	return fmt.Sprintf("it did not come within %s (--timeout): %s", l.after, l.what)
}

// await looks until what is waited for is there. A server that does not answer may
// come back: that is waited for as well.
func (r *Run) await(ctx context.Context, look func(context.Context) (state, error)) error {
	end, last := time.Now().Add(r.Timeout), ""
	for {
		s, err := look(ctx)
		var lost *kube.Unreached
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &lost):
			s = state{waiting: lost.Error()}
		case err != nil:
			return err
		case s.done:
			return nil
		}
		if told := fmt.Sprint(s.waiting, s.machines); told != last {
			last = told
			r.say(report.RunEvent{Type: report.Awaited, Message: s.waiting, Machines: s.machines})
		}
		if time.Now().Add(r.Pause).After(end) {
			return &late{s.waiting, r.Timeout, s.findings}
		}
		if !kube.Pause(ctx, r.Pause) {
			return context.Cause(ctx)
		}
	}
}

// settle waits until every machine has what the object says. The rendered
// configurations prove it; the conditions of the object are copies.
func (r *Run) settle(ctx context.Context) error {
	wanted, err := r.wanted()
	if err != nil {
		return err
	}
	failed := failures{}
	return r.await(ctx, func(ctx context.Context) (state, error) {
		p, err := r.progress(ctx, wanted)
		if err != nil {
			return state{}, err
		}
		failed.note(p.Machines, r.note)
		if p.Failed != "" {
			return state{}, errors.New(p.Failed)
		}
		return state{done: p.Done, waiting: p.Waiting, machines: report.Machines(p.Machines)}, nil
	})
}

// progress looks how far the last change has come. Somebody who changed the object
// meanwhile ends the run.
func (r *Run) progress(ctx context.Context, wanted rollout.Wanted) (rollout.Progress, error) {
	now, err := r.Server.Get(ctx, r.Object)
	if err != nil {
		return rollout.Progress{}, err
	}
	var object map[string]any
	if err := json.Unmarshal(now.Raw, &object); err != nil {
		return rollout.Progress{}, err
	}
	if rollout.Overtaken(object, wanted) {
		return rollout.Progress{}, errOvertaken
	}
	seen, err := r.Server.Rollout(ctx, now)
	if err != nil {
		return rollout.Progress{}, err
	}
	return rollout.Evaluate(seen, wanted), nil
}

// check waits until the cluster shows what has to hold.
func (r *Run) check(ctx context.Context, c route.Check) error {
	choice := c.Choice(r.Planner.Target, r.Accept)
	var twice time.Time // since when two owners are seen
	told := false       // what is to be done, which a way back may need at once
	err := r.await(ctx, func(ctx context.Context) (state, error) {
		seen, err := r.look(ctx, c, choice)
		if err != nil {
			return state{}, err
		}
		open := c.Unmet(seen, verify.Evaluate(seen, choice))
		if route.Hopeless(open) {
			return state{}, &late{"it does not pass by waiting: " + said(open), 0, open}
		}
		if twice = since(twice, route.TwoOwners(open)); !twice.IsZero() && time.Since(twice) >= ownersTime {
			return state{}, &late{"both managers run the cloud controllers, so waiting does harm: " + said(open), 0, open}
		}
		if len(open) == 0 {
			r.noteReleased(seen)
		} else if c.NodesOnly && !told {
			told = true
			r.showFindings(open)
		}
		return state{done: len(open) == 0, waiting: said(open), findings: open}, nil
	})
	if err == nil && !c.NodesOnly {
		r.say(report.RunEvent{Type: report.Checked, Message: "what has to hold behind the stage holds"})
	}
	return err
}

// ownersTime is for how long two owners may be seen: somewhat longer than a lease
// outlives its holder.
const ownersTime = 30 * time.Second

// since returns since when something holds; zero while it does not.
func since(before time.Time, holds bool) time.Time {
	switch {
	case !holds:
		return time.Time{}
	case before.IsZero():
		return time.Now()
	}
	return before
}

// said names the first of some findings.
func said(findings []transform.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	f := report.Findings(findings[:1])[0]
	text := f.Path + ": " + f.Message
	if more := len(findings) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// look looks at the cluster until the leases show what a choice needs. Nodes show
// what they need at once.
func (r *Run) look(ctx context.Context, check route.Check, c verify.Choice) (*observed, error) {
	if check.NodesOnly {
		return r.observer.Look(ctx)
	}
	return r.observer.Settled(ctx, func(o *observed) bool { return verify.Unsettled(o, c) }, r.Pause/4)
}
