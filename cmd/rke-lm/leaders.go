// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/live/check"
)

func newLeaders(o *options) *cobra.Command {
	w := &run.Leaders{Connector: &o.Connector, Arguments: run.Arguments{Engine: engine}}
	c := &cobra.Command{
		Use:     "leaders",
		Aliases: []string{"owners"}, // until the release before
		Short:   "Watch which manager runs the cloud controllers",
		Long: `Watch the leases of a live cluster and print a timeline of which manager runs the cloud
controllers that leader migration moves. A manager runs them if it is alive, holds the
lease, and has them according to its arguments: an external kube-controller-manager that
holds the lease runs nothing. What could not be observed is unknown, never "none".

The kube-controller-manager of RKE1 is not a pod. With --cluster its arguments are read
from Rancher's object, and with --arguments-from from a cluster.yml; both are read
repeatedly, because they change with the stages. While a change rolls out machine by
machine, only what old and new arguments agree on is known.

Without --for it runs until it is interrupted. The last lines have the seconds in which
no manager ran them, one, two, and unknown.`,
		Example: `  rke-lm leaders
  rke-lm leaders --for 10m -o json
  rke-lm leaders --arguments-from cluster.yml`,
		Args: noFiles,
		RunE: func(c *cobra.Command, _ []string) error {
			if w.Length <= 0 && c.Flags().Changed("for") {
				return fmt.Errorf("--for %s is too short; use a longer time, or remove it", w.Length)
			}
			return o.runLeaders(c.Context(), w)
		},
	}
	o.connectionFlags(c)
	o.clusterFlag(c.Flags())
	o.outputFlag(c, "text", "json", "yaml", "html")
	c.Flags().DurationVar(&w.Length, "for", 0, "stop after this time")
	c.Flags().StringArrayVar(&w.Files, "arguments-from", nil, "a cluster.yml of RKE1, for the arguments of its kube-controller-manager; change it before the machines (repeatable: machines can have any of them)")
	return c
}

func (o *options) runLeaders(ctx context.Context, w *run.Leaders) error {
	w.OnInterval = func(i check.Interval) {
		if o.OutputFormat == "text" { // as they come, where people read
			report.WriteInterval(o.Out, o.Palette, i)
		}
	}
	seen, err := w.Run(ctx)
	if seen == nil {
		return err
	}
	if o.OutputFormat == "text" {
		report.WriteOwnership(o.Out, *seen)
		return err
	}
	all := o.collect("leaders")
	all.WriteOne(seen, seen.Subject(cmp.Or(o.Cluster, "cluster")), report.OwnershipTable)
	return cmp.Or(err, withCode(all.Code))
}
