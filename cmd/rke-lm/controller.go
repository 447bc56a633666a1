// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
	_ "time/tzdata" // an image need not have the time zones

	"github.com/google/uuid"
	lasso "github.com/rancher/lasso/pkg/log"
	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
)

// controllerOptions are the flags of controller.
type controllerOptions struct {
	*options
	namespace string
	auditLog  string
	runs      int
	lease     time.Duration
	address   string // of probes and metrics
	policy    string // a file

	metrics *controller.Metrics
	colors  report.Palette
	turn    sync.Mutex              // of what is shown
	shown   map[string]*report.Runs // by LeaderMigrations
}

// watchRate is how many requests per second the watches and the lease make at most.
const watchRate = 20

// shortestLease leaves the time to renew a lease several times.
const shortestLease = 3 * time.Second

func newController(o *options) *cobra.Command {
	k := &controllerOptions{options: o}
	c := &cobra.Command{
		Use:   "controller",
		Short: "Migrate the clusters that LeaderMigrations select",
		Long: `Run the controller for LeaderMigrations, the objects that describe a migration of many
clusters of a Rancher: which clusters, in which waves, when, and who approves. It migrates
each cluster as migrate does, with the same lock and the same checks.

Of several controllers the one that holds the lease rke-lm-controller is active. After a
restart, or when another controller is active, each run continues where it is. Install the
definitions of the objects first: kubectl apply -f deploy/chart/crds/crds.yaml`,
		Example: `  rke-lm controller --namespace rke-lm --rancher-url https://rancher.example.com --token-file /var/run/secrets/rke-lm/token`,
		Args:    noFiles,
		RunE:    func(c *cobra.Command, _ []string) error { return k.start(c.Context()) },
	}
	o.connectionFlags(c)
	o.outputFlag(c, "text", "json")
	c.Flags().StringVar(&k.namespace, "namespace", "rke-lm", "namespace of the LeaderMigrations and their approvals, and of the lease")
	c.Flags().StringVar(&k.policy, "policy", "", "file with what LeaderMigrations can choose: namespaces of clusters, repositories of the chart and the image, options, and the least approval (default: the published chart with its image)")
	c.Flags().StringVar(&k.auditLog, "audit-log", "", "append an audit log of all clusters to this file, as JSON lines")
	c.Flags().IntVar(&k.runs, "max-runs", 10, "most clusters that this process migrates at the same time, of all LeaderMigrations")
	c.Flags().StringVar(&k.address, "metrics-bind-address", "", "address for /metrics, /healthz and /readyz, such as :8080 (default: none)")
	c.Flags().DurationVar(&k.lease, "lease-duration", 15*time.Second, "the time after which another controller becomes active if the lease is not renewed")
	return c
}

func (k *controllerOptions) check() error {
	switch {
	case k.runs < 1:
		return fmt.Errorf("--max-runs %d is less than 1, so no cluster could start; use a number of clusters", k.runs)
	case k.lease < shortestLease:
		return fmt.Errorf("--lease-duration %s is too short to renew the lease; use %s or more", k.lease, shortestLease)
	case k.namespace == "":
		return errors.New("--namespace is empty; set a namespace")
	}
	_, err := controller.ReadPolicy(k.policy)
	return err
}

// start runs the controller until it is interrupted.
func (k *controllerOptions) start(ctx context.Context) error {
	if err := k.check(); err != nil {
		return err
	}
	k.colors, k.shown = k.palette(k.err), map[string]*report.Runs{}
	k.Waits = true
	server, err := k.Connect(run.RetryTime)
	if err != nil {
		return err
	}
	if _, err := server.Downstream("local"); err != nil {
		return err
	}
	lasso.Infof, lasso.Debugf = func(string, ...any) {}, func(string, ...any) {}
	lasso.Errorf = func(format string, values ...any) { k.log(fmt.Sprintf(format, values...)) }
	config := server.Local().Config(watchRate)
	m := &controller.Manager{
		Client: server.Local(), Choose: k.choose, Slots: make(chan struct{}, k.runs), Show: k.show, Log: k.log,
		Policy: func() (controller.Policy, error) { return controller.ReadPolicy(k.policy) },
	}
	k.metrics = controller.NewMetrics(m)
	reviews, err := kubernetes.NewForConfig(config) // with a rate of its own: requests of others must not delay the lease
	if err != nil {
		return err
	}
	e := controller.Election{
		Config: config, Namespace: k.namespace, Identity: run.CurrentUser().Host + "_" + uuid.NewString(), Duration: k.lease,
		Health: leaderelection.NewLeaderHealthzAdaptor(k.lease),
	}
	healthy := func(r *http.Request) error { return errors.Join(e.Health.Check(r), m.Live()) }
	stop, err := serveHTTPS(k.address, probes(&controller.Readers{Client: reviews, Next: k.metrics.Handler()}, healthy), k.log)
	if err != nil {
		return err
	}
	defer stop()
	k.log("waiting for the lease " + k.namespace + "/" + controller.LeaseName)
	return e.Lead(ctx, func(ctx context.Context) error {
		k.log("active as " + e.Identity)
		k.metrics.Active(true)
		defer k.metrics.Active(false)
		defer k.log("not active")
		return (&controller.Watch{Config: config, Namespace: k.namespace, Manager: m}).Run(ctx)
	})
}

// show writes what happens to a cluster.
func (k *controllerOptions) show(migration string, m migrate.Member, e migrate.Event) {
	k.metrics.Observe(migration, m, e)
	k.turn.Lock()
	defer k.turn.Unlock()
	if k.shown[migration] == nil {
		k.shown[migration] = &report.Runs{Format: k.output, Out: k.out, Many: &report.FleetText{Err: k.err, Palette: k.colors, Prefix: migration + ": "}}
	}
	k.shown[migration].Show(m, e)
}

// log writes what happens to the controller itself.
func (k *controllerOptions) log(text string) {
	fmt.Fprintln(k.err, text)
}
