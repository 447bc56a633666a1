// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/plan"
)

const (
	// statusTime is for how long one cluster is looked at, whatever it waits for; a
	// takeover fits into it.
	statusTime = 90 * time.Second
	// StatusServers is how many API servers are read at once, so that a large kubeconfig
	// needs neither all memory nor all connections.
	StatusServers = 64
	// StatusReads is how many clusters of one Rancher are read at once: of some the labels of
	// their machines are requested.
	StatusReads = 16
	leasePause  = 500 * time.Millisecond // between two observations of the leases
	// finalReport is for how long an observation whose time ended may report what it waited for.
	finalReport = time.Second
)

// Status reads how far live clusters are.
type Status struct {
	*Connector
	Finder   clusters.Finder  // opens the clusters of a Rancher
	Progress *report.Progress // nil where none is shown
}

// target is an API server to inspect.
type target struct {
	name   string
	server *rancher.Server
	err    error // why there is no server
	// manages distinguishes one whose clusters alone are wanted.
	manages bool
}

// targets are the API servers to inspect: a Rancher, or the contexts of a kubeconfig.
func (s Status) targets() (list []target, err error) {
	const retryTime = 5 * time.Second // one cluster that is down must not hold up the others
	if s.Rancher != "" || s.CLI != "" {
		server, err := s.Connect(retryTime)
		if err != nil {
			return nil, err
		}
		return []target{{name: server.Local().Address(), server: server, manages: true}}, nil
	}
	contexts := []string{s.Context}
	if s.Context == "" && !s.Live() {
		if contexts, err = kube.Contexts(s.Connection); err != nil {
			return nil, err
		}
	}
	for _, name := range contexts {
		server, err := s.connectTo(name, retryTime)
		list = append(list, target{cmp.Or(name, "(current context)"), server, err, s.Live()})
	}
	return list, nil
}

// Run looks at all servers.
func (s Status) Run(ctx context.Context) (all Inspected, err error) {
	targets, err := s.targets()
	if err != nil {
		return all, err
	}
	defer s.Progress.Start(ctx).End()
	all.TypeMeta, all.Clusters = report.Type("Status"), []report.Status{}
	// Each inspection has a time of its own, and shows what it has found by then.
	for _, one := range clusters.Each(context.WithoutCancel(ctx), StatusServers, targets, func(t target) Inspected {
		return withTimeout(ctx, statusTime, t.name, func(ctx context.Context) Inspected { return s.inspect(ctx, t) })
	}) {
		all.add(one)
	}
	return all, nil
}

// Inspected are lines, their exit code, and why some are not shown.
type Inspected struct {
	report.Statuses
	Code  int
	Notes []string
}

func (s *Inspected) add(other Inspected) {
	s.Clusters, s.Code = append(s.Clusters, other.Clusters...), max(s.Code, other.Code)
	s.Migrations, s.Notes = append(s.Migrations, other.Migrations...), append(s.Notes, other.Notes...)
}

// lineOf is a cluster with its exit code.
func lineOf(s report.Status, code int) Inspected {
	return Inspected{Statuses: report.Statuses{Clusters: []report.Status{s}}, Code: code}
}

// withTimeout inspects for no longer than a time. A program for credentials that waits for
// someone ends with no context, so it is left over.
func withTimeout(ctx context.Context, limit time.Duration, name string, inspect func(context.Context) Inspected) Inspected {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan Inspected, 1)
	go func() { done <- guarded(name, func() Inspected { return inspect(ctx) }) }()
	over := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finalReport, func() { close(over) }) })()
	select {
	case s := <-done:
		return s
	case <-over:
		return lineOf(report.Status{Name: name, Problem: "not complete after " + limit.String() + "; check the API server, or the program for the credentials"}, transform.ExitFailed)
	}
}

// guarded is what was seen, or the line of a fault in the work.
func guarded(name string, inspect func() Inspected) (s Inspected) {
	if err := transform.Guard(name, func() error { s = inspect(); return nil }); err != nil {
		return troubled(name, err)
	}
	return s
}

// inspect returns the clusters of one API server: itself, and those that it
// provisions as a Rancher. One that cannot be read hides none of the others.
func (s Status) inspect(ctx context.Context, t target) (all Inspected) {
	if t.err != nil {
		return troubled(t.name, t.err)
	}
	managed, err := s.managed(ctx, t)
	if err != nil {
		return troubled(t.name, err)
	}
	if !t.manages {
		all = s.itself(ctx, t)
	}
	all.add(managed)
	return all
}

// troubled is the line of a cluster, or of several, that cannot be read.
func troubled(name string, err error) Inspected {
	return lineOf(report.Status{Name: name, Problem: err.Error()}, transform.ExitCodeOf(err))
}

// managed returns the clusters that an API server provisions as a Rancher, their code,
// and the LeaderMigrations. It fails where nothing is known of the server itself either.
func (s Status) managed(ctx context.Context, t target) (Inspected, error) {
	objects, err := t.server.Find(ctx, s.Query())
	var part *rancher.Incomplete
	switch {
	case err == nil || errors.As(err, &part):
	case !t.manages && errors.Is(err, rancher.ErrNoRancher):
		return Inspected{}, nil
	case !t.manages && kube.Lacks(err):
		return troubled("clusters of "+t.name, err), nil
	default:
		return Inspected{}, err
	}
	all, of := s.migrations(ctx, t)
	var done atomic.Int64
	read := func(o rancher.Object) Inspected {
		r := guarded(o.Title(), func() Inspected {
			return lineOf(s.provisioned(ctx, &clusters.Live{Server: t.server, Object: o}), transform.ExitDone)
		})
		r.Clusters[0].Migrations = of[o.FullName()]
		if n := done.Add(1); t.manages {
			s.Progress.Reached("clusters", int(n), len(objects))
		}
		return r
	}
	// What was listed is shown, also after the time that an inspection has.
	for _, r := range clusters.Each(context.WithoutCancel(ctx), StatusReads, objects, read) {
		all.add(r)
	}
	if part != nil {
		for _, hidden := range part.Unseen {
			all.add(troubled(hidden.Title, hidden.Err))
		}
	}
	return all, nil
}

// itself looks at a cluster.
func (s Status) itself(ctx context.Context, t target) Inspected {
	observer := &observe.Observer{Client: t.server.Local()}
	o, err := observer.Settled(ctx, check.Choice{}, leasePause)
	if err != nil {
		return troubled(t.name, err)
	}
	outline := check.Outlined(o, s.Finder.Formats)
	out := report.Status{Name: t.name, Format: outline.Format, Version: o.Version, Provider: outline.Provider, Situation: outline.Progress, Reached: outline.Reached}
	v := check.Evaluate(o, check.Choice{})
	out.Count(v.Findings)
	if !v.Known() {
		out.Warnings++ // who runs the cloud controllers
	}
	return lineOf(out, transform.ExitDone)
}

// provisioned reads how far a cluster has come off its object, as plan does.
func (s Status) provisioned(ctx context.Context, l *clusters.Live) report.Status {
	title := l.Object.Title()
	f, err := s.Finder.OpenLive(ctx, l)
	if err != nil {
		return report.Status{Name: title, Problem: err.Error()}
	}
	plan, err := plan.Build(f.Format, f.Docs, f.For(transform.Target{}))
	out := report.Status{Format: f.Format.Name}
	if err != nil {
		out.Version, out.Problem = f.Format.Identify(f.Docs[0]).Version, err.Error()
	} else {
		out = report.NewStatus(plan)
	}
	out.Name, out.File = title, ""
	out.Count(f.Objections(transform.Target{}))
	return out
}

// migrations reads the LeaderMigrations of a Rancher, and returns their names by the clusters as well. Without them the
// clusters are shown all the same.
func (s Status) migrations(ctx context.Context, t target) (found Inspected, of map[string][]string) {
	list, err := controller.List(ctx, t.server.Local())
	switch {
	case kube.HasStatus(err, http.StatusForbidden):
		found.Notes = append(found.Notes, "note: "+t.name+": LeaderMigrations are not shown, because you do not have permission to list leadermigrations.rke-lm.io")
	case err != nil:
		found.Notes = append(found.Notes, "note: "+t.name+": LeaderMigrations are not shown: "+err.Error())
	}
	of = map[string][]string{}
	for _, lm := range list {
		one := migrationStatus(lm)
		found.Migrations = append(found.Migrations, one)
		for _, c := range lm.Status.Clusters {
			of[c.Name] = append(of[c.Name], one.Name)
		}
	}
	return found, of
}

// migrationStatus is a LeaderMigration in a few words: with the condition that is true and describes it best.
func migrationStatus(lm v1alpha1.LeaderMigration) report.MigrationStatus {
	s := report.MigrationStatus{Name: lm.Namespace + "/" + lm.Name, Wave: lm.Status.Wave, Counts: lm.Status.Counts}
	for _, kind := range []string{v1alpha1.Complete, v1alpha1.Failed, v1alpha1.Waiting} {
		if c := meta.FindStatusCondition(lm.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
			s.Condition, s.Reason, s.Message = kind, c.Reason, c.Message
			return s
		}
	}
	if c := meta.FindStatusCondition(lm.Status.Conditions, v1alpha1.Complete); c != nil {
		s.Condition, s.Message = "Progressing", c.Message
	}
	return s
}
