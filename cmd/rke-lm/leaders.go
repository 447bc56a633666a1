// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
)

// leadersOptions are the flags of leaders, and what it has seen.
type leadersOptions struct {
	*options
	length  time.Duration
	limited func() bool // --for was given

	owners    observe.Owners
	intervals []ownership.Interval
	arguments givenArguments
	outage    observe.Outage

	saidNarrow bool
}

// leadersPause lies between two looks at the leases.
const leadersPause = 500 * time.Millisecond

func newLeaders(o *options) *cobra.Command {
	w := &leadersOptions{options: o, outage: o.Outage()}
	c := &cobra.Command{
		Use:     "leaders",
		Aliases: []string{"owners"}, // until the release before
		Short:   "Watch which manager runs the cloud controllers",
		Long: `Watch the leases of a live cluster and print a timeline of which manager runs the cloud
controllers that leader migration moves. A manager runs them if it is alive, holds the
lease, and has them according to its arguments: an external kube-controller-manager that
holds the lease runs nothing. What could not be observed is unknown, never "none".

The kube-controller-manager of RKE1 is not a pod. With --cluster its arguments are read
from Rancher's object, and with --arguments-from from a cluster.yml; both are read
repeatedly, because they change with the stages. While a change rolls out machine by
machine, only what old and new arguments agree on is known.

Without --for it runs until it is interrupted. The last lines have the seconds in which
no manager ran them, one, two, and unknown.`,
		Example: `  rke-lm leaders
  rke-lm leaders --for 10m -o json
  rke-lm leaders --arguments-from cluster.yml`,
		Args: noFiles,
		RunE: func(c *cobra.Command, _ []string) error { return w.run(c.Context()) },
	}
	w.connectionFlags(c)
	w.clusterFlag(c.Flags())
	o.outputFlag(c, "text", "json", "yaml", "html")
	c.Flags().DurationVar(&w.length, "for", 0, "stop after this time")
	c.Flags().StringArrayVar(&w.arguments.files, "arguments-from", nil, "a cluster.yml of RKE1, for the arguments of its kube-controller-manager; change it before the machines (repeatable: machines can have any of them)")
	w.limited = func() bool { return c.Flags().Changed("for") }
	return c
}

func (w *leadersOptions) run(ctx context.Context) error {
	if w.length <= 0 && w.limited() {
		return fmt.Errorf("--for %s is too short; use a longer time, or remove it", w.length)
	}
	if err := w.arguments.check(); err != nil {
		return err
	}
	observer, err := w.arguments.follow(ctx, &w.Connector)
	if err != nil {
		return err
	}
	if w.limited() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.length)
		defer cancel()
	}
	w.owners.Observer, w.owners.Given = observer, w.arguments.of
	w.follow(ctx)
	w.tell(w.owners.End(time.Now(), w.outage.Lost != nil))
	if err := w.finish(); err != nil {
		return err
	}
	return w.outage.Lost
}

// follow observes until its time ends, or it is refused. Temporary errors are
// retried; the timeline is unknown in the meantime.
func (w *leadersOptions) follow(ctx context.Context) {
	for {
		err := w.look(ctx)
		switch {
		case err == nil:
			w.outage.Over()
		case ctx.Err() != nil:
			w.never(ctx)
			return // it says nothing about the cluster
		case !w.outage.Retryable(err):
			return
		}
		if !kube.Pause(ctx, leadersPause) {
			return
		}
	}
}

// never notes that the time was over before anything was seen.
func (w *leadersOptions) never(ctx context.Context) {
	if w.owners.Seen.IsZero() && w.outage.Lost == nil {
		w.outage.Lost = &kube.Unreached{What: "read the leases", Err: fmt.Errorf("the first observation did not complete in time: %w", ctx.Err())}
	}
}

func (w *leadersOptions) look(ctx context.Context) error {
	intervals, err := w.owners.Look(ctx)
	w.narrow(w.owners.Narrow)
	w.tell(intervals)
	return err
}

// narrow reports once that managers in other namespaces are not seen.
func (w *leadersOptions) narrow(is bool) {
	if is && !w.saidNarrow {
		fmt.Fprintln(w.err, "nothing outside kube-system is checked: no permission to list daemonsets, deployments and pods in all namespaces; docs/permissions.md has the roles")
	}
	w.saidNarrow = is || w.saidNarrow
}

// tell keeps intervals, and prints them as they come where people read.
func (w *leadersOptions) tell(list []ownership.Interval) {
	w.intervals = append(w.intervals, list...)
	if w.output != "text" {
		return
	}
	for _, i := range list {
		report.WriteInterval(w.out, w.palette(w.out), i)
	}
}

func (w *leadersOptions) finish() error {
	if w.owners.Seen.IsZero() {
		return nil
	}
	o := report.NewOwnership(w.intervals, w.owners.Timeline.Handovers, w.arguments.from)
	switch {
	case w.output == "text":
		report.WriteOwnership(w.out, o)
		return nil
	case w.reports():
		found := newResults("leaders")
		found.Keep(o.Subject(cmp.Or(w.Cluster, "cluster")))
		return w.writeResults(found, report.OwnershipTable)
	}
	return w.dump(o)
}
