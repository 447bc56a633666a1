// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Owners follows, from observation to observation, who owns the cloud controllers of a cluster.
type Owners struct {
	*Observer
	// Given reads the arguments that a kube-controller-manager may have that is no pod;
	// nil where it is one.
	Given func(context.Context, []observed.Manager) ([]check.Given, error)

	Timeline check.Timeline
	Seen     time.Time // when the last observation had its answer; zero before the first
	Narrow   bool      // managers outside of kube-system are not seen

	managers []observed.Manager
	given    []check.Given
	readAt   time.Time // when the managers were requested
}

const (
	managersLast = 2 * time.Second // how long the arguments of the managers count
	readTimeout  = 4 * time.Second // so that a cut does not hang
	tailTime     = 2 * time.Second // from the last read to the end, at most
)

// Observe reads once, and returns the intervals that this completes.
func (w *Owners) Observe(ctx context.Context) ([]check.Interval, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	asked := time.Now()
	if asked.Sub(w.readAt) > managersLast {
		if err := w.read(ctx); err != nil {
			return nil, kube.Refusal(err)
		}
		w.readAt = asked
		asked = time.Now()
	}
	var o observed.Observation
	if err := w.Leases(ctx, &o); err != nil {
		return nil, kube.Refusal(err)
	}
	w.Seen = time.Now()
	return w.Timeline.Add(check.Sample{Asked: asked, At: w.Seen, Leases: o.Leases, Managers: w.managers, Given: w.given}), nil
}

// read reads the managers, and what one of them was given.
func (w *Owners) read(ctx context.Context) error {
	var o observed.Observation
	err := w.Managers(ctx, &o)
	if err != nil {
		return err
	}
	w.Narrow, w.managers = o.KubeSystemOnly, o.Managers
	if w.Given != nil {
		w.given, err = w.Given(ctx, o.Managers)
	}
	return err
}

// End closes the timeline. After an observation that failed, or that hangs, nothing is known.
func (w *Owners) End(now time.Time, lost bool) []check.Interval {
	if lost || now.Sub(w.Seen) > tailTime {
		return w.Timeline.Lost(now)
	}
	return w.Timeline.End(now)
}

// Another is an observer of the same cluster with a memory of its own for leases: two can
// look at the same time.
func (o *Observer) Another() *Observer {
	other := &Observer{Client: o.Client}
	o.narrow.Range(func(name, reviewed any) bool { other.narrow.Store(name, reviewed); return true })
	return other
}
