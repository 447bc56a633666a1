// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
)

// statusOptions are the flags of status.
type statusOptions struct {
	*options
}

// statusRetryTime is short: one cluster that is down must not hold up the others.
const statusRetryTime = 5 * time.Second

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
	result, notes, code := run.Status{Finder: s.finder(), Query: s.query(), Servers: targets, Progress: s.progress}.Run(ctx)
	for _, note := range notes {
		fmt.Fprintln(s.err, note)
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

// targets are the API servers to look at: a Rancher, or the contexts of a
// kubeconfig.
func (s *statusOptions) targets() ([]run.Server, error) {
	if s.rancher != "" || s.commandLine != "" {
		server, err := s.connect(s.streams, statusRetryTime)
		if err != nil {
			return nil, err
		}
		return []run.Server{{Name: server.Local().Address(), Server: server, Manages: true}}, nil
	}
	contexts := []string{s.context}
	if s.context == "" && !s.live() {
		var err error
		if contexts, err = kube.Contexts(s.named("", 0)); err != nil {
			return nil, err
		}
	}
	var list []run.Server
	for _, name := range contexts {
		server, err := s.connectTo(s.streams, name, statusRetryTime)
		list = append(list, run.Server{Name: cmp.Or(name, "(current context)"), Server: server, Err: err, Manages: s.live()})
	}
	return list, nil
}
