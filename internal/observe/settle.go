// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
)

const (
	// settleLimit is for how long leases are followed that last as long as usual.
	settleLimit = 40 * time.Second
	usualLease  = 15 * time.Second
	longLimit   = 5 * time.Minute
)

// settleTime is longer where leases last longer: the dead show only at their end.
func settleTime(out *observation.Observation) time.Duration {
	longest := usualLease
	processes := ownership.ReadAll(out.Managers)
	names := []string{ownership.Migration(processes)}
	for _, component := range []string{observation.KubeManager, observation.CloudManager} {
		names = append(names, ownership.Mains(component, processes)...)
	}
	for _, name := range names {
		l, _ := out.Lease(name)
		longest = max(longest, time.Duration(l.DurationSeconds)*time.Second)
	}
	return min(settleLimit-usualLease+longest, longLimit)
}

// errUnsettled means that no verdict is possible: looks that are too far apart show
// no sign of life.
var errUnsettled = errors.New("it is not known yet whether their holders are alive")

// Settled looks once at everything, and then at the managers and the leases for as
// long as they do not show what they have to: who leads may be replaced meanwhile. What
// was seen before counts no more: a holder that was replaced since would be alive until
// its lease ends.
func (o *Observer) Settled(ctx context.Context, unsettled func(*observation.Observation) bool, every time.Duration) (*observation.Observation, error) {
	o.watch = observation.Watch{}
	out, err := o.Look(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for end := start.Add(settleTime(out)); unsettled(out) && time.Now().Before(end) && kube.Pause(ctx, every); {
		if err := o.Again(ctx, out); err != nil {
			return nil, err
		}
		out.FollowedSeconds = time.Since(start).Seconds()
	}
	switch {
	case ctx.Err() != nil:
		return nil, &kube.Unreached{What: followed, Err: ctx.Err()}
	case unsettled(out):
		return nil, &kube.Unreached{What: followed, Err: errUnsettled}
	}
	return out, nil
}

const followed = "follow the leases"
