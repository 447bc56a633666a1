// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// look is what a look at something that is waited for found.
type look struct {
	done     bool
	waiting  string
	machines []rollout.MachineProgress
	findings []transform.Finding
}

// late means that something did not come in time.
type late struct {
	what     string
	after    time.Duration
	findings []transform.Finding
}

func (l *late) Error() string {
	if l.after == 0 {
		return l.what
	}
	return fmt.Sprintf("not complete within %s (--timeout): %s", l.after, l.what)
}

// awaitSeen looks at the cluster until what is waited for is there.
func (r *run) awaitSeen(ctx context.Context, at func(*observed) (look, error)) error {
	return r.await(ctx, func(ctx context.Context) (look, error) {
		seen, err := r.cluster.observer.Look(ctx)
		if err != nil {
			return look{}, err
		}
		return at(seen)
	})
}

// await looks until what is waited for is there. A server that does not answer may
// come back: that is waited for as well.
func (r *run) await(ctx context.Context, at func(context.Context) (look, error)) error {
	end, last := time.Now().Add(r.Timeout), ""
	for {
		found, err := at(ctx)
		var lost *kube.Unreached
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &lost):
			found = look{waiting: lost.Error()}
		case err != nil:
			return err
		case found.done:
			return nil
		}
		if text := fmt.Sprint(found.waiting, found.machines); text != last {
			last = text
			r.events.emit(Event{Type: Awaited, Message: found.waiting, Machines: found.machines})
		}
		if time.Now().Add(r.Interval).After(end) {
			return &late{found.waiting, r.Timeout, found.findings}
		}
		if !kube.Pause(ctx, r.Interval) {
			return context.Cause(ctx)
		}
	}
}
