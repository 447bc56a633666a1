// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/verify"
	"github.com/rke-lm/rke-lm/transform/shell"
)

// migrationChoices are the choices of a LeaderMigration. It makes the runs over its clusters.
type migrationChoices struct {
	run.Migrate
	*options
	server *rancher.Server
	flags  []string // the choices on a command line
	names  []string // of the options
	policy string   // a file
}

// choose reads the choices of a LeaderMigration, and those of its approvals.
func (k *controllerOptions) choose(ctx context.Context, spec v1alpha1.LeaderMigrationSpec, accept ...string) (controller.Runs, error) {
	o := *k.options
	o.choices, o.acceptable = transform.Target{}, verify.Rules()
	c := &migrationChoices{options: &o, Migrate: run.Migrate{Connector: &o.Connector, Engine: engine}, policy: k.policy}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.targetFlags(flags)
	if err := c.read(flags, spec); err != nil {
		return nil, err
	}
	for _, rule := range accept {
		c.names, c.flags = append(c.names, "accept"), append(c.flags, "--accept="+rule)
		o.choices.Accept = append(o.choices.Accept, rule)
	}
	target, err := o.target()
	if err != nil {
		return nil, err
	}
	if err := controller.CheckAccept(target.Accept); err != nil {
		return nil, err
	}
	c.Chosen.Planner.Target = target
	if err := c.Permitted(""); err != nil {
		return nil, err
	}
	if c.server, err = o.Connect(run.RetryTime); err != nil {
		return nil, err
	}
	c.Chosen.Planner.Target.RancherVersion = o.RancherVersion(ctx, c.server, target.RancherVersion)
	c.Finder, c.Continue, c.Revert = o.finder(), c.flags, c.flags
	c.Chosen.Until, c.Chosen.EtcdSnapshot, c.Chosen.CanaryService, c.Chosen.AuditLog = spec.Until, spec.EtcdSnapshot, spec.CanaryService, k.auditLog
	c.Chosen.Timeout = action.RolloutTime
	if spec.Timeout != nil {
		c.Chosen.Timeout = cmp.Or(spec.Timeout.Duration, c.Chosen.Timeout)
	}
	return c, nil
}

// read sets the flags from the options.
func (c *migrationChoices) read(flags *pflag.FlagSet, spec v1alpha1.LeaderMigrationSpec) error {
	const name = transform.EndStateByObject
	text, err := json.Marshal(spec.Options)
	if err != nil || len(spec.Options) == 0 {
		return err
	}
	settings, err := config.Parse(name, text, choiceKinds())
	if err != nil {
		return err
	}
	if err := c.apply(flags, name, settings); err != nil {
		return err
	}
	for _, s := range settings {
		c.names = append(c.names, s.Key)
		for _, v := range s.Values {
			c.flags = append(c.flags, "--"+s.Key+"="+v)
		}
	}
	return nil
}

// Find returns the clusters with some labels.
func (c *migrationChoices) Find(ctx context.Context, selector string) ([]rancher.Object, error) {
	return c.server.Find(ctx, rancher.Query{Selector: selector})
}

// Get returns a cluster.
func (c *migrationChoices) Get(ctx context.Context, cluster string) (rancher.Object, error) {
	found, err := c.server.Find(ctx, rancher.Query{Name: cluster})
	if err != nil {
		return rancher.Object{}, err
	}
	return found[0], nil
}

// Plan plans a cluster.
func (c *migrationChoices) Plan(ctx context.Context, o rancher.Object) (*transform.Plan, error) {
	return c.Migrate.Plan(ctx, c.server, o)
}

// Open makes the run over a cluster, with connections of its own.
func (c *migrationChoices) Open(ctx context.Context, cluster string) (migrate.Options, error) {
	server, err := c.Migrate.Connect(run.RetryTime)
	if err != nil {
		return migrate.Options{}, err
	}
	found, err := server.Find(ctx, rancher.Query{Name: cluster})
	if err != nil {
		return migrate.Options{}, err
	}
	r, err := c.Over(ctx, server, found[0])
	r.Interval, r.Permit = controller.Interval, func() error { return c.Permitted(found[0].Home()) }
	return r, err
}

// Permitted fails where the policy, as it is now, does not permit the choices, or clusters in a namespace.
func (c *migrationChoices) Permitted(home string) error {
	policy, err := controller.ReadPolicy(c.policy)
	if err != nil {
		return err
	}
	return policy.Check(c.Chosen.Planner.Target, c.names, home)
}

// Command is the command line that applies a stage to the file of a cluster.
func (c *migrationChoices) Command(stage string) string {
	flags := slices.DeleteFunc(slices.Clone(c.flags), func(f string) bool { return strings.HasPrefix(f, "--"+manualDone+"=") })
	return shell.Words(append([]string{"rke-lm", "apply", "--stage=" + stage}, flags...)...) + " FILE"
}
