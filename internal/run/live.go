// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Verify checks a live cluster, or a dump of one.
type Verify struct {
	*Connector
	Arguments                  // of a kube-controller-manager that is no pod
	Stage     string           // whose result is checked as well; "" for none
	Target    transform.Target // of the migration as it was planned
	From      string           // the dump; "" for a live cluster, and - for In
	In        io.Reader        // standard input
	Wait      time.Duration    // for which it is checked again while there are errors, whose number is noted
	AllPods   bool
	Against   string // the file of the snapshot to compare with; "" for that of the cluster
	Dump      string // the file that gets a dump; "" for none
	Snapshot  string // the file that gets a snapshot, or InCluster; "" for none

	choice check.Choice
}

// InCluster keeps the snapshot as a ConfigMap.
const InCluster = "cluster"

const checkInterval = 2 * time.Second // between two checks of everything

// Run checks it, writes what was requested, and returns the verdict and what was written of a snapshot.
func (v Verify) Run(ctx context.Context) (verdict report.Verification, kept string, err error) {
	if err := v.check(); err != nil {
		return verdict, "", err
	}
	v.choice = check.Choice{Version: v.Target.Version, Accept: v.Target.Accept, Late: stages.Late(v.Stage), Cluster: v.InShell()}
	v.Target.Version = "" // it is checked by rules, and not by the stage
	v.choice.Check = stages.After(v.Stage, v.Target)
	var before *observed.Snapshot
	if v.Against != "" {
		if before, err = observe.ReadSnapshot(v.Against); err != nil {
			return verdict, "", err
		}
	}
	o, observer, err := v.observe(ctx, before)
	if err == nil && v.Dump != "" {
		err = observe.WriteDump(v.Dump, o)
	}
	if err == nil && v.Snapshot != "" {
		kept, err = v.keep(ctx, observer, o)
	}
	if err != nil {
		return verdict, "", err
	}
	verdict = report.NewVerification(o, v.choice, check.Evaluate(o, v.choice))
	if observer != nil {
		verdict.Cluster = strings.TrimSpace(cmp.Or(v.Cluster, v.Context) + " (" + observer.Client.Address() + ")")
	}
	return verdict, kept, nil
}

// check refuses choices that mean nothing together.
func (v Verify) check() error {
	switch err := checkMigration(v.Target); {
	case err != nil:
		return err
	case v.From != "" && v.named():
		return errors.New("--from reads a file; remove the connection flags")
	case v.From != "" && (v.Wait > 0 || v.Snapshot == InCluster || v.AllPods):
		return errors.New("--from reads a file; remove --wait, --all-pods and --snapshot without a file")
	case v.Wait < 0:
		return fmt.Errorf("--wait %s is too short; use a longer time, or remove it", v.Wait)
	}
	return nil
}

// observe reads the dump, or looks at the cluster for as long as there are errors
// and time is left.
func (v *Verify) observe(ctx context.Context, before *observed.Snapshot) (o *observed.Observation, observer *observe.Observer, err error) {
	switch {
	case v.From == "-":
		o, err = observe.ReadDumpFrom(yamledit.Stdin, v.In)
	case v.From != "":
		o, err = observe.ReadDump(v.From)
	default:
		retryTime := RetryTime // not longer than the whole of a short wait
		if v.Waits = v.Wait > 0; v.Waits {
			retryTime = min(v.Wait, RetryTime)
		}
		if observer, v.Server, v.Object, err = v.Reach(ctx, retryTime); err != nil {
			return nil, nil, err
		}
		observer.AllPods, observer.Before = v.AllPods, before
		o, err = v.await(ctx, observer)
		return o, observer, err
	}
	if err == nil && before != nil {
		o.Before = before
	}
	return o, nil, err
}

// await observes until there are no errors, or the time ends. A cluster that
// cannot be observed is observed again as well; an earlier observation is no
// result.
func (v *Verify) await(ctx context.Context, observer *observe.Observer) (*observed.Observation, error) {
	outage := v.Outage()
	for end, last := time.Now().Add(v.Wait), 0; ; {
		o, err := observer.Settled(ctx, v.choice, leasePause)
		over := time.Now().Add(checkInterval).After(end)
		if err != nil {
			if over || ctx.Err() != nil || !outage.Retryable(err) || !kube.Pause(ctx, checkInterval) {
				return nil, err
			}
			continue
		}
		outage.Over()
		if list, err := v.Of(ctx, o.Managers); err == nil { // what the cluster's object does not show is not checked
			v.choice.Given = list
		}
		errs := len(transform.Stopping(check.Evaluate(o, v.choice).Findings))
		if errs != last && v.Waits {
			fmt.Fprintf(v.Notes, "errors: %d\n", errs)
		}
		if last = errs; errs == 0 || over || !kube.Pause(ctx, checkInterval) {
			return o, nil
		}
	}
}

// keep keeps the snapshot where it was requested, and returns what was written.
func (v Verify) keep(ctx context.Context, observer *observe.Observer, o *observed.Observation) (kept string, err error) {
	s, place := o.Snapshot(check.Reached(o)), v.Snapshot
	if v.Snapshot == InCluster {
		place = "the ConfigMap kube-system/" + observe.SnapshotName
		err = observer.KeepSnapshot(ctx, s)
	} else {
		err = observe.WriteSnapshot(v.Snapshot, s)
	}
	return fmt.Sprintf("snapshot of %d nodes and %d load balancers written to %s", len(s.Nodes), len(s.LoadBalancers), place), err
}

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
