// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

const (
	// settleLimit is for how long leases are followed that last as long as usual.
	settleLimit = 40 * time.Second
	usualLease  = 15 * time.Second
	longLimit   = 5 * time.Minute
)

// settleTime is longer where leases last longer: the dead show only at their end.
func settleTime(out *observed.Observation) time.Duration {
	longest := usualLease
	processes := check.Processes(out.Managers)
	mains := lists.Flat([]string{observed.KubeManager, observed.CloudManager}, func(component string) []string { return check.Mains(component, processes) })
	for _, name := range append(mains, check.MigrationLease(processes)) {
		l, _ := out.Lease(name)
		longest = max(longest, time.Duration(l.DurationSeconds)*time.Second)
	}
	return min(settleLimit-usualLease+longest, longLimit)
}

// errUnsettled means that no verdict is possible: observations that are too far apart show
// no sign of life.
var errUnsettled = errors.New("it is not known yet whether their holders are alive")

// Settled looks once at everything, and then at the managers and the leases for as
// long as they do not show what a choice checks: who leads may be replaced meanwhile. What
// was seen before counts no more: a holder that was replaced since would be alive until
// its lease ends.
func (o *Observer) Settled(ctx context.Context, c check.Choice, every time.Duration) (*observed.Observation, error) {
	o.watch = observed.Watch{}
	out, err := o.Observe(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for end := start.Add(settleTime(out)); check.Unsettled(out, c) && time.Now().Before(end) && kube.Pause(ctx, every); {
		if err := o.Again(ctx, out); err != nil {
			return nil, err
		}
		out.FollowedSeconds = time.Since(start).Seconds()
	}
	switch {
	case ctx.Err() != nil:
		return nil, &kube.Unreached{What: followed, Err: ctx.Err()}
	case check.Unsettled(out, c):
		return nil, &kube.Unreached{What: followed, Err: errUnsettled}
	}
	return out, nil
}

const followed = "follow the leases"

// Outage is a time in which a cluster that was seen before cannot be seen. Nothing
// is checked meanwhile.
type Outage struct {
	Notes io.Writer // says when one begins and ends
	// Denials is for how long a cluster may refuse what it has allowed: a token or a
	// role that is replaced is gone for a moment.
	Denials time.Duration
	Lost    error // why the cluster cannot be seen; nil while it can

	seen   bool      // it was seen once
	denied time.Time // when it began to refuse what it had allowed
}

// Over notes that the cluster was seen.
func (o *Outage) Over() {
	if o.Lost != nil {
		fmt.Fprintln(o.Notes, "seen again")
	}
	o.Lost, o.seen, o.denied = nil, true, time.Time{}
}

// Retryable notes why the cluster was not seen, and reports whether that may pass.
func (o *Outage) Retryable(err error) bool {
	first := o.Lost == nil
	o.Lost = err
	if !o.passes(err) {
		return false
	}
	if first && (o.seen || !kube.Unconnected(err)) {
		what, _, _ := strings.Cut(err.Error(), "; ") // what to do is in the error of the run that ends with it
		fmt.Fprintln(o.Notes, "unknown from now on, trying again:", what)
	}
	return true
}

func (o *Outage) passes(err error) bool {
	if !errors.As(err, new(*kube.Denied)) {
		return o.seen || !kube.NoCredentials(err)
	}
	if o.denied.IsZero() {
		o.denied = time.Now()
	}
	return o.seen && time.Since(o.denied) < o.Denials
}
