// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
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
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newMigrate(o *options) *cobra.Command {
	m := newRun(o)
	c := &cobra.Command{
		Use:   "migrate {--cluster CLUSTER | --selector SELECTOR}",
		Short: "Migrate live clusters of a Rancher, stage by stage",
		Long: `Apply the remaining stages to a live cluster of a Rancher, in their order. Each stage
is shown, confirmed, applied, rolled out to every machine, and checked on the cluster
before the next. The run stops at the first check that fails, and prints what is done
and how to continue or roll back.

The same command continues a run that was interrupted. There is no state outside of
the cluster. A lock prevents two runs on one cluster; that of a run that died expires
after 15 seconds. Nodes that were cordoned for the switch are uncordoned whenever a
run ends, or by the next run.

With --selector all clusters with these labels are migrated, each by a run of its own:
first the canaries, then in waves of --wave-size clusters, and --max-unavailable of them
at the same time. Each wave is confirmed. No wave starts before all clusters of the one
before it have ended. After more than --max-failures failures, or if a canary fails,
no other cluster starts, and those in progress finish. The end is a report.`,
		Example: `  rke-lm migrate --cluster harbour --rancher-url https://rancher.example.com
  rke-lm migrate --cluster harbour --until install-ccm --yes
  rke-lm migrate --cluster harbour --end-state external --etcd-snapshot -o json
  rke-lm migrate --cluster c-m-abcdefgh --yes --audit-log audit.jsonl
  rke-lm migrate --cluster harbour --restart-command 'ssh "ec2-user@$ADDRESS" sudo "$COMMAND"' --yes
  rke-lm migrate -l env=staging --canary fleet-default/harbour --wave-size 5 --max-unavailable 2 --yes`,
		Args: noFiles,
	}
	var restart string
	c.RunE = func(c *cobra.Command, _ []string) error {
		if restart != "" {
			m.work.Chosen.Restart = migrate.RestartCommand(restart).Restart
		}
		if err := m.checkWaves(c.Flags()); err != nil {
			return err
		}
		if m.Selector != "" {
			return m.startMany(c)
		}
		return m.start(c, migrate.Forward)
	}
	o.clusterFlags(c)
	c.Flags().StringArrayVar(&m.work.Canaries, "canary", nil, "a cluster of the first wave, in which no failure is tolerated (repeatable)")
	c.Flags().IntVar(&m.work.Size, "wave-size", 0, "number of clusters in each of the other waves (default: one wave with all of them)")
	c.Flags().IntVar(&m.work.Limits.Unavailable, "max-unavailable", 1, "most clusters that are migrated at the same time")
	c.Flags().IntVar(&m.work.Limits.Failures, "max-failures", 0, "most clusters that can fail before no other one starts")
	group(c.Flags(), wavesGroup)
	m.flags(c)
	c.Flags().StringVar(&m.work.Chosen.Until, "until", "", "the last stage to apply (default: all)")
	c.Flags().BoolVar(&m.work.Chosen.EtcdSnapshot, "etcd-snapshot", false, "take an etcd snapshot with Rancher before the first write and before the switch")
	c.Flags().StringVar(&restart, "restart-command", "", "run this in a shell to restart the kubelet of a machine whose Node was drained and deleted to register again; NODE, ADDRESS and COMMAND are set")
	c.Flags().BoolVar(&m.work.Chosen.CanaryService, "canary-service", false, "at the end, prove that the cloud controllers work: a Service of type LoadBalancer gets an address and is deleted, no provider ID has changed, and no Event reports an error; with --selector only in the first wave")
	oneOf(c.Flags(), "until", stages.Names())
	return c
}

// wavesFlags are those that only many clusters have.
var wavesFlags = []string{"canary", "wave-size", "max-unavailable", "max-failures"}

// checkWaves refuses them for one cluster, where they mean nothing.
func (c *runOptions) checkWaves(f *pflag.FlagSet) error {
	if name, given := lists.Find(wavesFlags, f.Changed); given && c.Selector == "" {
		return fmt.Errorf("--%s requires --selector; add it, or remove --%[1]s", name)
	}
	return c.work.CheckWaves()
}

// startMany finds the clusters and migrates them in waves.
func (c *runOptions) startMany(cmd *cobra.Command) error {
	if err := c.check(cmd.Name()); err != nil {
		return err
	}
	c.work.Show = func(m migrate.Member, e migrate.Event) {
		c.shown.Many.Waves = c.work.Waves
		c.shown.Show(m, e)
	}
	if !c.yes {
		c.work.Agree = c.shown.Agree
	}
	except := append([]string{"selector"}, wavesFlags...)
	c.work.Continue, c.work.Revert = givenFlags(cmd, except...), givenFlags(cmd, append(except, forwardFlags...)...)
	s, err := c.work.Many(cmd.Context())
	if err != nil {
		return err
	}
	return cmp.Or(c.shown.WriteSummary(s, commandLine(cmd, cmd.Name())), withCode(c.shown.Code))
}

// runOptions are the flags of the verbs that run stages on live clusters.
type runOptions struct {
	*options
	work  run.Migrate
	yes   bool
	shown *report.Runs
}

func newRun(o *options) *runOptions {
	return &runOptions{options: o, work: run.Migrate{Connector: &o.Connector, Engine: engine, Closed: func() bool { return o.standard.Err != nil }}}
}

func (c *runOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.connectionFlags(cmd)
	c.inputFlags(f)
	c.valuesFlag(f, valuesOfLive)
	c.targetFlags(f)
	c.outputFlag(cmd, "text", "json", "html")
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask for confirmation; required without a terminal")
	f.DurationVar(&c.work.Chosen.Timeout, "timeout", action.RolloutTime, "the time to wait for each condition")
	f.StringVar(&c.work.Chosen.AuditLog, "audit-log", "", "append an audit log to this file, as JSON lines")
}

// check refuses choices that mean nothing, before anything is looked at, and completes the work.
func (c *runOptions) check(verb string) error {
	if !c.Live() {
		return errors.New("no cluster; add --cluster NAMESPACE/NAME, or its ID")
	}
	if !c.yes && !report.IsTerminal(c.in) {
		return errors.New("there is no terminal for the confirmation; add --yes")
	}
	c.Copies = true
	if err := cmp.Or(c.CheckLive(), c.Search.Check()); err != nil {
		return err
	}
	c.shown = report.NewRuns(c.collect(verb), c.in, c.Selector != "")
	c.work.Finder, c.work.Chosen.Planner.Target, c.work.Show = c.Finder, c.Target, c.shown.Show
	signal.Notify(brokenPipes, syscall.SIGPIPE)
	return nil
}

// brokenPipes takes the signals that would end the process in place of an error, once the output is closed: in the
// middle, with nodes cordoned. A helm that is started does not inherit that. It is of the process, as signals are:
// one for each run would outlive it in tests.
var brokenPipes = make(chan os.Signal, 1)

// start runs over one cluster.
func (c *runOptions) start(cmd *cobra.Command, work func(context.Context, migrate.Options) error) error {
	if err := c.check(cmd.Name()); err != nil {
		return err
	}
	r := &c.work.Chosen
	if !c.yes {
		r.Confirm = c.shown.Ask
	}
	r.Continue, r.Revert = commandLine(cmd, cmd.Name()), commandLine(cmd, "rollback", forwardFlags...)
	if cmd.Name() == "rollback" {
		r.Revert = commandLine(cmd, "migrate", "to", "canonical")
	}
	return c.shown.WriteRun(c.work.One(cmd.Context(), work))
}

// forwardFlags are those of migrate that rollback does not have.
var forwardFlags = []string{"until", "etcd-snapshot", "canary-service", "restart-command"}

func newRollback(o *options) *cobra.Command {
	b := newRun(o)
	c := &cobra.Command{
		Use:   "rollback --cluster CLUSTER",
		Short: "Undo stages of a live cluster of a Rancher",
		Long: `Undo stages of a live cluster of a Rancher, the last one first, each rolled out and
checked as migrate does. One edit restores the in-tree provider and the flag of leader
migration, so that there are never two managers that run the cloud controllers. With --to the
result is the state after that stage; without it, the state before the first stage.

Use the choices of the migration. If the object does not show what was there before a
stage, the run is refused before anything is changed; --canonical uses the usual form.
A cluster with Kubernetes 1.27 or later has no in-tree provider to roll back to: that is
the point of no return.`,
		Example: `  rke-lm rollback --rancher-cli --cluster fleet-default/harbour
  rke-lm rollback --cluster harbour --to install-ccm --yes`,
		Args: noFiles,
		RunE: func(c *cobra.Command, _ []string) error { return b.start(c, migrate.Backward) },
	}
	o.clusterFlag(c.Flags())
	b.flags(c)
	c.Flags().StringVar(&b.work.Chosen.Planner.To, "to", "", "the stage to roll back to (default: before all stages)")
	c.Flags().BoolVar(&o.Target.CanonicalForm, "canonical", false, "if the object does not show the previous form, use the usual form")
	oneOf(c.Flags(), "to", stages.Names())
	return c
}

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
