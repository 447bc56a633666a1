// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/live/check"
)

// Leaders follows which manager runs the cloud controllers of a live cluster.
type Leaders struct {
	*Connector
	Arguments                // of a kube-controller-manager that is no pod
	Length     time.Duration // after which it ends; 0 for the end of its context
	OnInterval func(check.Interval)

	owners    observe.Owners
	outage    observe.Outage
	intervals []check.Interval
}

// Run follows them until its time ends, or it is refused. It returns what was seen until then; nil for nothing.
func (l *Leaders) Run(ctx context.Context) (*report.Ownership, error) {
	for _, file := range l.Files {
		if _, err := l.fromFile(file); err != nil {
			return nil, err
		}
	}
	l.Waits, l.outage = true, l.Outage()
	var err error
	if l.owners.Observer, l.Server, l.Object, err = l.Reach(ctx, 0); err != nil {
		return nil, err
	}
	if l.Length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.Length)
		defer cancel()
	}
	l.owners.Given = l.Of
	l.follow(ctx)
	l.add(l.owners.End(time.Now(), l.outage.Lost != nil))
	if l.owners.Seen.IsZero() {
		return nil, l.outage.Lost
	}
	seen := report.NewOwnership(l.intervals, l.owners.Timeline.Handovers, l.from)
	return &seen, l.outage.Lost
}

// follow observes. Temporary errors are retried; the timeline is unknown in the meantime.
func (l *Leaders) follow(ctx context.Context) {
	for narrow := false; ; {
		intervals, err := l.owners.Observe(ctx)
		if l.owners.Narrow && !narrow {
			narrow = true
			fmt.Fprintln(l.Notes, "nothing outside kube-system is checked: no permission to list daemonsets, deployments and pods in all namespaces; docs/permissions.md has the roles")
		}
		l.add(intervals)
		switch {
		case err == nil:
			l.outage.Over()
		case ctx.Err() != nil: // it says nothing about the cluster
			if l.owners.Seen.IsZero() && l.outage.Lost == nil {
				l.outage.Lost = &kube.Unreached{What: "read the leases", Err: fmt.Errorf("the first observation did not complete in time: %w", ctx.Err())}
			}
			return
		case !l.outage.Retryable(err):
			return
		}
		if !kube.Pause(ctx, leasePause) {
			return
		}
	}
}

func (l *Leaders) add(list []check.Interval) {
	l.intervals = append(l.intervals, list...)
	for _, i := range list {
		l.OnInterval(i)
	}
}
