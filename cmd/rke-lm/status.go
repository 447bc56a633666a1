// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/verify"
)

// statusOptions are the flags of status.
type statusOptions struct {
	*options
}

const (
	// statusRetryTime is short: one cluster that is down must not hold up the others.
	statusRetryTime = 5 * time.Second
	// statusTime is for how long one cluster is looked at, whatever it waits for; a
	// takeover fits into it.
	statusTime = 90 * time.Second
	// statusLooks is how many API servers are read at once, so that a large kubeconfig
	// needs neither all memory nor all connections.
	statusLooks = 64
	// statusReads is how many clusters of one Rancher are read at once: of some the labels of
	// their machines are requested.
	statusReads = 16
	// finalReport is for how long an observation whose time ended may report what it waited for.
	finalReport = time.Second
)

func newStatus(o *options) *cobra.Command {
	s := &statusOptions{options: o}
	c := &cobra.Command{
		Use:   "status",
		Short: "Print the progress of live clusters",
		Long: `Print one line for each context of a kubeconfig, from the state of its cluster, and for
each cluster that a Rancher provisions, from its object: distro, version, provider,
situation, the last stage that is done, and the number of findings. The LeaderMigrations
of a Rancher are listed below its clusters.`,
		Example: `  rke-lm status
  rke-lm status --context orchard -o json
  rke-lm status --rancher-url https://rancher.example.com --token-file token`,
		Args: noFiles,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context()) },
	}
	s.connection.flags(c)
	s.clusterFlags(c)
	o.outputFlag(c, "text", "wide", "json", "yaml")
	return c
}

func (s *statusOptions) run(ctx context.Context) error {
	targets, err := s.targets()
	if err != nil {
		return err
	}
	end := s.progress.Start(ctx)
	all := make([]seen, len(targets))
	var ended sync.WaitGroup
	room := make(chan struct{}, statusLooks)
	for i, t := range targets {
		room <- struct{}{}
		ended.Go(func() {
			defer func() { <-room }()
			all[i] = bounded(ctx, statusTime, t.name, func(ctx context.Context) seen { return s.look(ctx, t) })
		})
	}
	ended.Wait()
	end()
	result, code := report.Statuses{APIVersion: report.APIVersion, Kind: "Status", Clusters: []report.Status{}}, exitcode.Done
	for _, one := range all {
		result.Clusters = append(result.Clusters, one.list...)
		result.Migrations = append(result.Migrations, one.migrations...)
		code = max(code, one.code)
	}
	if s.output == "text" {
		colors := s.palette(s.out)
		report.WriteStatuses(s.out, colors, result.Clusters)
		report.WriteMigrations(s.out, colors, result.Migrations)
	} else if err := s.dump(result); err != nil {
		return err
	}
	return withCode(code)
}

// seen are lines, their code, and the LeaderMigrations there.
type seen struct {
	list       []report.Status
	code       int
	migrations []report.MigrationStatus
}

// bounded looks for no longer than a time. A program for credentials that waits for
// someone ends with no context, so it is left over.
func bounded(ctx context.Context, limit time.Duration, name string, look func(context.Context) seen) seen {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan seen, 1)
	go func() {
		var s seen
		err := transform.Guard(name, func() error {
			s = look(ctx)
			return nil
		})
		if err != nil {
			s = troubled(name, err)
		}
		done <- s
	}()
	over := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finalReport, func() { close(over) }) })()
	select {
	case s := <-done:
		return s
	case <-over:
		return seen{list: []report.Status{{Name: name, Problem: "not complete after " + limit.String() + "; check the API server, or the program for the credentials"}}, code: exitcode.Failed}
	}
}

// target is an API server to look at.
type target struct {
	name   string
	server *rancher.Server
	err    error // why there is no server
	// manages distinguishes one whose clusters alone are wanted.
	manages bool
}

// targets are the API servers to look at: a Rancher, or the contexts of a
// kubeconfig.
func (s *statusOptions) targets() ([]target, error) {
	if s.rancher != "" || s.commandLine != "" {
		server, err := s.connect(s.streams, statusRetryTime)
		if err != nil {
			return nil, err
		}
		return []target{{name: server.Local().Address(), server: server, manages: true}}, nil
	}
	contexts := []string{s.context}
	if s.context == "" && !s.live() {
		var err error
		if contexts, err = kube.Contexts(s.named("", 0)); err != nil {
			return nil, err
		}
	}
	var list []target
	for _, name := range contexts {
		server, err := s.connectTo(s.streams, name, statusRetryTime)
		list = append(list, target{cmp.Or(name, "(current context)"), server, err, s.live()})
	}
	return list, nil
}

// look returns the clusters of one API server: itself, and those that it
// provisions as a Rancher. One that cannot be read hides none of the others.
func (s *statusOptions) look(ctx context.Context, t target) seen {
	if t.err != nil {
		return troubled(t.name, t.err)
	}
	all, err := s.managed(ctx, t)
	switch {
	case err != nil:
		return troubled(t.name, err)
	case t.manages:
		return all
	}
	itself := s.itself(ctx, t)
	all.list, all.code = append(itself.list, all.list...), max(all.code, itself.code)
	return all
}

// troubled is the line of a cluster, or of several, that cannot be read.
func troubled(name string, err error) seen {
	return seen{list: []report.Status{{Name: name, Problem: err.Error()}}, code: exitcode.Of(err)}
}

// managed returns the clusters that an API server provisions as a Rancher, their code,
// and the LeaderMigrations. It fails where nothing is known of the server itself either.
func (s *statusOptions) managed(ctx context.Context, t target) (all seen, err error) {
	objects, err := t.server.Find(ctx, s.query())
	var part *rancher.Incomplete
	var denied *kube.Denied
	switch {
	case err == nil || errors.As(err, &part):
	case !t.manages && errors.Is(err, rancher.ErrNoRancher):
		return seen{}, nil
	case !t.manages && errors.As(err, &denied) && !denied.Expired:
		return troubled("clusters of "+t.name, err), nil
	default:
		return seen{}, err
	}
	moving := s.migrations(ctx, t)
	all.migrations = moving.list
	take := func(some seen) {
		all.list, all.code = append(all.list, some.list...), max(all.code, some.code)
	}
	read := func(o rancher.Object) seen { return s.read(ctx, t, o, moving.of[o.FullName()]) }
	done := 0
	// What was listed is shown, also after the time that a look has.
	for r := range clusters.InOrder(context.WithoutCancel(ctx), statusReads, objects, read) {
		take(r)
		if done++; t.manages {
			s.progress.Reached("clusters", done, len(objects))
		}
	}
	if part != nil {
		for _, hidden := range part.Unseen {
			take(troubled(hidden.Title, hidden.Err))
		}
	}
	return all, nil
}

// read returns the line of a cluster of a Rancher, which some LeaderMigrations have.
func (s *statusOptions) read(ctx context.Context, t target, o rancher.Object, migrations []string) (r seen) {
	err := transform.Guard(o.Title(), func() error {
		r.list = []report.Status{s.provisioned(ctx, &clusters.Live{Server: t.server, Object: o})}
		return nil
	})
	if err != nil {
		r = troubled(o.Title(), err)
	}
	r.list[0].Migrations = migrations
	return r
}

// itself looks at a cluster.
func (s *statusOptions) itself(ctx context.Context, t target) seen {
	o, err := settled(ctx, &observe.Observer{Client: t.server.Local()}, verify.Choice{})
	if err != nil {
		return troubled(t.name, err)
	}
	outline := verify.Outlined(o, distros())
	out := report.Status{Name: t.name, Distro: outline.Distro, Version: o.Version, Provider: outline.Provider, Situation: outline.Progress, Reached: outline.Reached}
	v := verify.Evaluate(o, verify.Choice{})
	out.Count(v.Findings)
	if !v.Known() {
		out.Warnings++ // who runs the cloud controllers
	}
	return seen{list: []report.Status{out}}
}

// provisioned reads how far a cluster has come off its object, as plan does.
func (s *statusOptions) provisioned(ctx context.Context, l *clusters.Live) report.Status {
	title := l.Object.Title()
	f, err := s.finder().OpenLive(ctx, l)
	if err != nil {
		return report.Status{Name: title, Problem: err.Error()}
	}
	plan, err := transform.Build(f.Distro, f.Docs, f.For(transform.Target{}))
	out := report.Status{Distro: f.Distro.Name}
	if err != nil {
		out.Version, out.Problem = f.Distro.Identify(f.Docs[0]).Version, err.Error()
	} else {
		out = report.NewStatus(plan)
	}
	out.Name, out.File = title, ""
	out.Count(f.Objections(transform.Target{}))
	return out
}
