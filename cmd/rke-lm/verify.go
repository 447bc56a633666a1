// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/verify"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	*options
	choice   verify.Choice
	stage    string
	target   transform.Target // as it was planned
	from     string
	dump     string
	snapshot string
	against  string
	wait     time.Duration
	allPods  bool
	of       string // the live cluster and its address
}

// inCluster keeps the snapshot as a ConfigMap.
const inCluster = "cluster"

const lookPause = 2 * time.Second // between two looks at everything

func newVerify(o *options) *cobra.Command {
	v := &verifyOptions{options: o}
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check a live cluster, or a dump of one",
		Long: `Check a live cluster, or a dump of one: nodes and their provider IDs, the migration
lease and the permissions on it, the cloud-controller-manager, volumes and load
balancers. An error makes the exit code 1, unless --accept names its rule. A
lease is watched until it shows whether its holder is alive, which takes a few seconds.

Only --snapshot changes the cluster: it saves what must stay the same, the names, UIDs
and provider IDs of nodes, and the load balancers.`,
		Example: `  rke-lm verify --snapshot
  rke-lm verify --stage switch-to-external --wait 10m
  rke-lm verify --rancher-cli --cluster fleet-default/harbour
  rke-lm verify --from dump.yaml -o json`,
		Args: noFiles,
		RunE: func(c *cobra.Command, _ []string) error { return v.run(c.Context()) },
	}
	f := c.Flags()
	v.connection.flags(c)
	v.clusterFlag(f)
	o.outputFlag(c, everyFormat...)
	f.StringVar(&v.stage, "stage", "", "also check the result of this stage")
	oneOf(c, "stage", stages.Names())
	pathFlags(f, &v.target)
	f.StringVar(&v.choice.Version, "target-version", "", "release of the planned upgrade")
	f.StringArrayVar(&v.choice.Accept, "accept", nil, "accept the errors of a rule (repeatable)")
	f.DurationVar(&v.wait, "wait", 0, "check again for this time while there are errors")
	f.StringVar(&v.from, "from", "", "check this dump, or the output of kubectl get -o yaml, instead of a live cluster; - for standard input")
	f.StringVar(&v.dump, "dump", "", "write a dump of the cluster to this file")
	f.StringVar(&v.snapshot, "snapshot", "", "write a snapshot to this file; without a file, to the ConfigMap kube-system/"+observe.SnapshotName)
	f.Lookup("snapshot").NoOptDefVal = inCluster
	f.StringVar(&v.against, "against", "", "compare with the snapshot in this file instead of the cluster's")
	f.BoolVar(&v.allPods, "all-pods", false, "also read the pods of all namespaces, for in-tree volumes in their specs")
	return c
}

func (v *verifyOptions) run(ctx context.Context) error {
	if err := v.check(); err != nil {
		return err
	}
	var before *observation.Snapshot
	if v.against != "" {
		var err error
		if before, err = observe.ReadSnapshot(v.against); err != nil {
			return err
		}
	}
	o, observer, err := v.observe(ctx, before)
	if err != nil {
		return err
	}
	if v.dump != "" {
		if err := observe.WriteDump(v.dump, o); err != nil {
			return err
		}
	}
	if err := v.keep(ctx, observer, o); err != nil {
		return err
	}
	return v.show(o)
}

// check refuses choices that mean nothing together.
func (v *verifyOptions) check() error {
	if err := cmp.Or(checkRelease("target-version", v.choice.Version), checkMigration(v.target)); err != nil {
		return err
	}
	v.choice.Check, v.choice.Late = stages.After(v.stage, v.target), stages.Late(v.stage)
	v.choice.Cluster = v.inShell()
	if v.from != "" && v.connection != (connection{}) {
		return errors.New("--from reads a file; remove the connection flags")
	}
	if v.from != "" && (v.wait > 0 || v.snapshot == inCluster || v.allPods) {
		return errors.New("--from reads a file; remove --wait, --all-pods and --snapshot without a file")
	}
	if v.wait < 0 {
		return fmt.Errorf("--wait %s is too short; use a longer time, or remove it", v.wait)
	}
	for _, id := range v.choice.Accept {
		if err := checkAcceptable(id, verify.Rules()); err != nil {
			return err
		}
	}
	return nil
}

// observe reads the dump, or looks at the cluster for as long as there are errors
// and time is left.
func (v *verifyOptions) observe(ctx context.Context, before *observation.Snapshot) (*observation.Observation, *observe.Observer, error) {
	if v.from != "" {
		o, err := v.read()
		if err == nil && before != nil {
			o.Before = before
		}
		return o, nil, err
	}
	v.waits = v.wait > 0
	observer, err := v.dial(ctx, v.streams, v.retryTime())
	if err != nil {
		return nil, nil, err
	}
	observer.AllPods, observer.Before = v.allPods, before
	v.of = strings.TrimSpace(cmp.Or(v.cluster, v.context) + " (" + observer.Client.Address() + ")")
	o, err := v.await(ctx, observer)
	return o, observer, err
}

// read reads the dump from its file, or from standard input as paths are.
func (v *verifyOptions) read() (*observation.Observation, error) {
	if v.from == "-" {
		return observe.ReadDumpFrom(yamledit.Stdin, v.in)
	}
	return observe.ReadDump(v.from)
}

// retryTime is not longer than the whole of a short wait.
func (v *verifyOptions) retryTime() time.Duration {
	if v.wait > 0 {
		return min(v.wait, defaultRetryTime)
	}
	return defaultRetryTime
}

// await observes until there are no errors, or the time ends. A cluster that
// cannot be observed is observed again as well; an earlier observation is no
// result.
func (v *verifyOptions) await(ctx context.Context, observer *observe.Observer) (*observation.Observation, error) {
	gone := v.outage()
	for end, last := time.Now().Add(v.wait), 0; ; {
		o, err := run.Settled(ctx, observer, v.choice)
		over := time.Now().Add(lookPause).After(end)
		if err != nil {
			if over || ctx.Err() != nil || !gone.Retryable(err) || !kube.Pause(ctx, lookPause) {
				return nil, err
			}
			continue
		}
		gone.Over()
		errs := stopping(verify.Evaluate(o, v.choice).Findings)
		if errs != last && v.wait > 0 {
			fmt.Fprintf(v.err, "errors: %d\n", errs)
		}
		if last = errs; errs == 0 || over || !kube.Pause(ctx, lookPause) {
			return o, nil
		}
	}
}

func stopping(findings []transform.Finding) (count int) {
	for _, f := range findings {
		if f.Stops() {
			count++
		}
	}
	return count
}

// keep keeps the snapshot where it was requested.
func (v *verifyOptions) keep(ctx context.Context, observer *observe.Observer, o *observation.Observation) error {
	if v.snapshot == "" {
		return nil
	}
	s, place := o.Snapshot(verify.Reached(o)), v.snapshot
	var err error
	if v.snapshot == inCluster {
		place = "the ConfigMap kube-system/" + observe.SnapshotName
		err = observer.KeepSnapshot(ctx, s)
	} else {
		err = observe.WriteSnapshot(v.snapshot, s)
	}
	if err == nil {
		fmt.Fprintf(v.err, "snapshot of %d nodes and %d load balancers written to %s\n", len(s.Nodes), len(s.LoadBalancers), place)
	}
	return err
}

func (v *verifyOptions) write(shown report.Verification) error {
	switch {
	case v.output == "text":
		report.WriteVerification(v.out, v.palette(v.out), shown)
		return nil
	case v.reports():
		found := newResults("verify")
		found.Keep(shown.Subject(cmp.Or(v.cluster, v.from, "cluster")))
		return v.writeResults(found, report.FindingTable)
	}
	return v.options.dump(shown)
}

func (v *verifyOptions) show(o *observation.Observation) error {
	shown := report.NewVerification(o, v.choice, verify.Evaluate(o, v.choice))
	shown.Cluster = v.of
	if err := v.write(shown); err != nil {
		return err
	}
	if !shown.OK {
		return withCode(exitcode.Found)
	}
	return nil
}
