// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/review"
)

// Migrate runs stages on live clusters of a Rancher.
type Migrate struct {
	*Connector
	*rancher.Server // once it is connected
	Finder          clusters.Finder
	Engine          Engine
	Chosen          migrate.Options // what every run has: those of its planner are the choices
	Show            func(migrate.Member, migrate.Event)
	Closed          func() bool // the output takes no more

	// Of many clusters:
	Canaries []string
	Size     int // of a wave; 0 for one wave
	Limits   transition.Limits
	Agree    func(context.Context, transition.Wave) (bool, error) // to start a wave; nil for yes
	// The flags of the commands that continue the run of one cluster alone, and take it back.
	Continue, Revert []string
	Waves            []transition.Wave // in which they are migrated, once they are found
}

// CheckWaves refuses limits of waves that they cannot have.
func (m *Migrate) CheckWaves() error {
	switch {
	case m.Size < 0:
		return fmt.Errorf("--wave-size %d is negative; use a number of clusters", m.Size)
	case m.Limits.Failures < 0:
		return fmt.Errorf("--max-failures %d is negative; use a number of clusters, or 0 for none", m.Limits.Failures)
	case m.Limits.Unavailable < 1:
		return fmt.Errorf("--max-unavailable %d is less than 1, so no cluster could start; use a number of clusters", m.Limits.Unavailable)
	}
	return nil
}

// find finds the clusters that are meant, and completes the choices.
func (m *Migrate) find(ctx context.Context) (objects []rancher.Object, err error) {
	m.Waits = true
	if m.Server, err = m.Connect(RetryTime); err != nil {
		return nil, err
	}
	if objects, err = m.Find(ctx, m.Query()); err == nil {
		m.Chosen.Planner.Target.RancherVersion = m.RancherVersion(ctx, m.Server, m.Chosen.Planner.Target.RancherVersion)
	}
	return objects, err
}

// One runs over one cluster, and returns its name; "" where the run did not begin.
func (m *Migrate) One(ctx context.Context, work func(context.Context, migrate.Options) error) (string, error) {
	objects, err := m.find(ctx)
	if err != nil {
		return "", err
	}
	r, err := m.over(ctx, m.Server, objects[0])
	if err != nil {
		return "", err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	r.OnEvent = func(e migrate.Event) { m.show(migrate.Member{}, e, end) }
	return objects[0].Title(), work(ctx, r)
}

// show shows an event, and ends what runs once the output is closed, as an interrupt does.
func (m *Migrate) show(of migrate.Member, e migrate.Event, end context.CancelCauseFunc) {
	if m.Show(of, e); m.Closed() {
		end(errors.New("standard output is closed"))
	}
}

// Many migrates the clusters in waves.
func (m *Migrate) Many(ctx context.Context) (s migrate.Summary, err error) {
	objects, err := m.find(ctx)
	if err != nil {
		return s, err
	}
	if len(objects) == 0 {
		return s, transform.NewError(transform.ExitRefused, rancher.ErrNone.Error()+" with these labels; rke-lm status lists the clusters of a Rancher")
	}
	of, names := lists.By(objects, rancher.Object.Title), lists.Map(objects, rancher.Object.Title)
	canaries, err := m.namedIn(objects)
	if err != nil {
		return s, err
	}
	m.Waves = transition.Split(names, canaries, m.Size)
	f := &migrate.Fleet{Waves: m.Waves, Limits: m.Limits, Refused: map[string]error{}, Agree: m.Agree}
	for _, o := range objects { // before any of them is changed
		f.Refused[o.Title()] = transform.Guard(o.Title(), func() error {
			_, err := m.Plan(ctx, o)
			return err
		})
	}
	f.Open = func(cluster string) (migrate.Options, error) { // with connections of its own, as a run over one cluster has
		server, err := m.Connect(RetryTime)
		if err != nil {
			return migrate.Options{}, err
		}
		return m.over(ctx, server, of[cluster])
	}
	waved, end := context.WithCancelCause(ctx)
	defer end(nil)
	f.OnChange = func(of migrate.Member, e migrate.Event) { m.show(of, e, end) }
	return f.Run(waved), nil
}

// namedIn are the titles of the canaries, which have to be among the clusters.
func (m *Migrate) namedIn(objects []rancher.Object) (titles []string, err error) {
	for _, name := range m.Canaries {
		found := lists.Where(objects, func(o rancher.Object) bool {
			return slices.Contains([]string{o.Title(), o.ID, o.Name, o.Display}, name)
		})
		switch len(found) {
		case 0:
			return nil, fmt.Errorf("--canary %s: no such cluster among those with the labels of --selector", name)
		case 1:
			titles = append(titles, found[0].Title())
		default:
			return nil, fmt.Errorf("--canary %s: several clusters have this name; use NAMESPACE/NAME or the ID", name)
		}
	}
	return titles, nil
}

// over is the run over a cluster; over one of many with the commands for it alone.
func (m *Migrate) over(ctx context.Context, server *rancher.Server, o rancher.Object) (r migrate.Options, err error) {
	r = m.Chosen
	r.Server, r.Object = server, o
	if r.Continue == "" {
		one := "--cluster=" + o.FullName()
		r.Continue = action.Words(append([]string{"rke-lm", "migrate", one}, m.Continue...)...)
		r.Revert = action.Words(append([]string{"rke-lm", "rollback", one}, m.Revert...)...)
	}
	found, err := m.open(ctx, server, o)
	if err != nil {
		return r, err
	}
	r.Planner.Format = found.Format
	if r.Planner.Target, err = m.Finder.WithValues(found, found.For(r.Planner.Target)); err != nil {
		return r, err
	}
	r.Given = (&Arguments{Engine: m.Engine, Server: server, Object: o}).Of
	r.Interval, r.User = 2*time.Second, currentUser()
	return r, nil
}

// Plan plans a cluster as the run over it does.
func (m *Migrate) Plan(ctx context.Context, o rancher.Object) (*plan.Plan, error) {
	found, err := m.open(ctx, m.Server, o)
	if err != nil {
		return nil, err
	}
	return plan.Build(found.Format, found.Docs, found.For(m.Chosen.Planner.Target))
}

// open opens a cluster that a run can be over. Manifests lie on machines, where no server
// reaches them.
func (m *Migrate) open(ctx context.Context, server *rancher.Server, o rancher.Object) (clusters.Cluster, error) {
	f, err := m.Finder.OpenLive(ctx, &clusters.Live{Server: server, Object: o})
	switch {
	case err != nil:
	case f.Format.Live.Kind != o.Kind:
		err = transform.WithExitCode(transform.ExitRefused, fmt.Errorf("%s: it is not an RKE2 or RKE cluster that this Rancher provisions; for manifests on the machines, use plan and apply", o.Title()))
	default:
		if err = CheckHostNames(m.Finder, f); err == nil && o.ID == "" {
			err = notCreated(o)
		}
	}
	return f, err
}

// currentUser is who runs the tool, and where.
func currentUser() migrate.User {
	by := migrate.User{Name: "unknown"}
	if u, err := user.Current(); err == nil {
		by.Name = u.Username
	}
	host, _ := os.Hostname()
	by.Host = cmp.Or(host, "unknown")
	return by
}

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
