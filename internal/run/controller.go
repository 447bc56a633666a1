// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/review"
)

// Controller migrates the clusters that LeaderMigrations select.
type Controller struct {
	*Connector
	controller.Process
	Engine   Engine
	Runs     int    // most clusters at the same time
	AuditLog string // a file; "" for none
	Policy   string // a file with what LeaderMigrations can choose; "" for the default
	Kinds    map[string]config.Kind
	// Target makes the choices of settings and of rules that are accepted, and what opens the clusters.
	Target func(settings []review.Setting, accept []string) (transform.Target, clusters.Finder, error)
}

// Run runs the controller until it is interrupted.
func (c *Controller) Run(ctx context.Context) error {
	c.Waits = true
	server, err := c.Connect(RetryTime)
	if err != nil {
		return err
	}
	c.Host, c.Manager.Choose, c.Manager.Slots = currentUser().Host, c.choose, make(chan struct{}, c.Runs)
	c.Manager.Policy = func() (controller.Policy, error) { return controller.ReadPolicy(c.Policy) }
	return c.Process.Run(ctx, server)
}

// selected are the clusters of a LeaderMigration, with its choices. It makes the runs over them.
type selected struct {
	Migrate
	names  []string // of the options
	policy string   // a file
}

// choose reads the choices of a LeaderMigration, and those of its approvals.
func (c *Controller) choose(ctx context.Context, spec v1alpha1.LeaderMigrationSpec, accept ...string) (controller.Runs, error) {
	s := &selected{Migrate: Migrate{Connector: c.Connector, Engine: c.Engine}, policy: c.Policy}
	var settings []review.Setting
	if len(spec.Options) > 0 {
		text, err := json.Marshal(spec.Options)
		if err != nil {
			return nil, err
		}
		if settings, err = config.Parse(transform.EndStateByObject, text, c.Kinds); err != nil {
			return nil, err
		}
	}
	target, finder, err := c.Target(settings, accept)
	if err != nil {
		return nil, err
	}
	settings = append(settings, lists.Map(accept, func(rule string) review.Setting { return review.Setting{Key: "accept", Values: []string{rule}} })...)
	for _, one := range settings {
		s.names = append(s.names, one.Key)
		s.Continue = append(s.Continue, lists.Map(one.Values, func(v string) string { return "--" + one.Key + "=" + v })...)
	}
	s.Finder, s.Revert, s.Chosen.Planner.Target = finder, s.Continue, target
	if err := cmp.Or(controller.CheckAccept(target.Accept), s.Permitted("")); err != nil {
		return nil, err
	}
	if s.Server, err = c.Connect(RetryTime); err != nil {
		return nil, err
	}
	s.Chosen.Planner.Target.RancherVersion = c.RancherVersion(ctx, s.Server, target.RancherVersion)
	s.Chosen.Until, s.Chosen.EtcdSnapshot, s.Chosen.CanaryService, s.Chosen.AuditLog = spec.Until, spec.EtcdSnapshot, spec.CanaryService, c.AuditLog
	s.Chosen.Timeout = action.RolloutTime
	if spec.Timeout != nil {
		s.Chosen.Timeout = cmp.Or(spec.Timeout.Duration, s.Chosen.Timeout)
	}
	return s, nil
}

// Open makes the run over a cluster, with connections of its own.
func (s *selected) Open(ctx context.Context, cluster string) (migrate.Options, error) {
	server, err := s.Connect(RetryTime)
	if err != nil {
		return migrate.Options{}, err
	}
	found, err := server.Find(ctx, rancher.Query{Name: cluster})
	if err != nil {
		return migrate.Options{}, err
	}
	r, err := s.over(ctx, server, found[0])
	r.Interval, r.Permit = controller.Interval, func() error { return s.Permitted(found[0].Home()) }
	return r, err
}

// Permitted fails where the policy, as it is now, does not permit the choices, or clusters in a namespace.
func (s *selected) Permitted(home string) error {
	policy, err := controller.ReadPolicy(s.policy)
	if err != nil {
		return err
	}
	return policy.Check(s.Chosen.Planner.Target, s.names, home)
}

// Command is the command line that applies a stage to the file of a cluster.
func (s *selected) Command(stage string) string {
	flags := slices.DeleteFunc(slices.Clone(s.Continue), func(f string) bool { return strings.HasPrefix(f, "--manual-done=") })
	return action.Words(append([]string{"rke-lm", "apply", "--stage=" + stage}, flags...)...) + " FILE"
}
