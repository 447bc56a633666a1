// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // an image need not have the time zones

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/review"
)

// controllerOptions are the flags of controller.
type controllerOptions struct {
	*options
	work  run.Controller
	turn  sync.Mutex // of what is shown
	shown report.Runs
}

// shortestLease leaves the time to renew a lease several times.
const shortestLease = 3 * time.Second

func newController(o *options) *cobra.Command {
	k := &controllerOptions{options: o, work: run.Controller{Connector: &o.Connector, Engine: engine}}
	c := &cobra.Command{
		Use:   "controller",
		Short: "Migrate the clusters that LeaderMigrations select",
		Long: `Run the controller for LeaderMigrations, the objects that describe a migration of many
clusters of a Rancher: which clusters, in which waves, when, and who approves. It migrates
each cluster as migrate does, with the same lock and the same checks.

Of several controllers the one that holds the lease rke-lm-controller is active. After a
restart, or when another controller is active, each run continues where it is. Install the
definitions of the objects first: kubectl apply -f deploy/chart/crds/crds.yaml`,
		Example: `  rke-lm controller --rancher-url https://rancher.example.com --token-file token`,
		Args:    noFiles,
		RunE:    func(c *cobra.Command, _ []string) error { return k.start(c.Context()) },
	}
	o.connectionFlags(c)
	o.outputFlag(c, "text", "json")
	c.Flags().StringVar(&k.work.Namespace, "namespace", "rke-lm", "namespace of the LeaderMigrations and their approvals, and of the lease")
	c.Flags().StringVar(&k.work.Policy, "policy", "", "file with what LeaderMigrations can choose: namespaces of clusters, repositories of the chart and the image, options, and the least approval (default: the published chart with its image)")
	c.Flags().StringVar(&k.work.AuditLog, "audit-log", "", "append an audit log of all clusters to this file, as JSON lines")
	c.Flags().IntVar(&k.work.Runs, "max-runs", 10, "most clusters that this process migrates at the same time, of all LeaderMigrations")
	c.Flags().StringVar(&k.work.Address, "metrics-bind-address", "", "address for /metrics, /healthz and /readyz, such as :8080 (default: none)")
	c.Flags().DurationVar(&k.work.Lease, "lease-duration", 15*time.Second, "the time after which another controller becomes active if the lease is not renewed")
	return c
}

// start checks the flags and runs the controller.
func (k *controllerOptions) start(ctx context.Context) error {
	w := &k.work
	switch {
	case w.Runs < 1:
		return fmt.Errorf("--max-runs %d is less than 1, so no cluster could start; use a number of clusters", w.Runs)
	case w.Lease < shortestLease:
		return fmt.Errorf("--lease-duration %s is too short to renew the lease; use %s or more", w.Lease, shortestLease)
	case w.Namespace == "":
		return errors.New("--namespace is empty; set a namespace")
	}
	if _, err := controller.ReadPolicy(w.Policy); err != nil {
		return err
	}
	k.shown = report.Runs{Collector: k.collect("controller"), Many: &report.FleetText{Err: k.Err, Palette: k.ErrPalette}}
	w.Kinds, w.Target = choiceKinds(), k.chosen
	w.Manager = &controller.Manager{Show: k.show, Log: func(text string) { fmt.Fprintln(k.Err, text) }}
	return w.Run(ctx)
}

// chosen sets the flags from settings.
func (k *controllerOptions) chosen(settings []review.Setting, accept []string) (t transform.Target, f clusters.Finder, err error) {
	o := *k.options
	o.Target = t
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.targetFlags(flags)
	if err := o.apply(flags, transform.EndStateByObject, settings); err != nil {
		return t, f, err
	}
	o.Target.Accept = append(o.Target.Accept, accept...)
	err = o.Check()
	return o.Target, o.Finder, err
}

// show writes what happens to a cluster.
func (k *controllerOptions) show(migration string, m migrate.Member, e migrate.Event) {
	k.turn.Lock()
	defer k.turn.Unlock()
	k.shown.Many.Prefix = migration + ": "
	k.shown.Show(m, e)
}
