// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
)

func newStatus(o *options) *cobra.Command {
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
		RunE: func(c *cobra.Command, _ []string) error { return o.runStatus(c.Context()) },
	}
	o.connectionFlags(c)
	o.clusterFlags(c)
	o.outputFlag(c, "text", "wide", "json", "yaml")
	return c
}

func (o *options) runStatus(ctx context.Context) error {
	if err := o.Check(); err != nil {
		return err
	}
	seen, err := run.Status{Connector: &o.Connector, Finder: o.Finder, Progress: o.Progress}.Run(ctx)
	if err != nil {
		return err
	}
	for _, note := range seen.Notes {
		fmt.Fprintln(o.Err, note)
	}
	if o.OutputFormat == "text" {
		report.WriteStatuses(o.Out, o.Palette, seen.Clusters)
		report.WriteMigrations(o.Out, o.Palette, seen.Migrations)
	} else if err := o.Dump(seen.Statuses); err != nil {
		return err
	}
	return withCode(seen.Code)
}
