// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newVerify(o *options) *cobra.Command {
	v := run.Verify{Connector: &o.Connector, Arguments: run.Arguments{Engine: engine}, In: o.in}
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check a live cluster, or a dump of one",
		Long: `Check a live cluster, or a dump of one: nodes and their provider IDs, the migration
lease and the permissions on it, the cloud-controller-manager, volumes and load
balancers. An error makes the exit code 1, unless --accept names its rule. A
lease is watched until it shows whether its holder is alive, which takes a few seconds.

Only --snapshot changes the cluster: it saves what must stay the same, the names, UIDs
and provider IDs of nodes, and the load balancers.`,
		Example: `  rke-lm verify --snapshot
  rke-lm verify --stage switch-to-external --wait 10m
  rke-lm verify --rancher-cli --cluster fleet-default/harbour
  rke-lm verify --from dump.yaml -o json`,
		Args: noFiles,
		RunE: func(c *cobra.Command, _ []string) error { return o.verify(c.Context(), v) },
	}
	f := c.Flags()
	o.connectionFlags(c)
	o.clusterFlag(f)
	pathFlags(f, &v.Target)
	o.outputFlag(c, everyOutputFormat...)
	f.StringVar(&v.Stage, "stage", "", "also check the result of this stage")
	oneOf(c, "stage", stages.Names())
	f.StringVar(&v.Target.Version, "target-version", "", "release of the planned upgrade")
	f.StringArrayVar(&v.Target.Accept, "accept", nil, "accept the errors of a rule (repeatable)")
	f.DurationVar(&v.Wait, "wait", 0, "check again for this time while there are errors")
	f.StringVar(&v.From, "from", "", "check this dump, or the output of kubectl get -o yaml, instead of a live cluster; - for standard input")
	f.StringVar(&v.Dump, "dump", "", "write a dump of the cluster to this file")
	f.StringVar(&v.Snapshot, "snapshot", "", "write a snapshot to this file; without a file, to the ConfigMap kube-system/"+observe.SnapshotName)
	f.Lookup("snapshot").NoOptDefVal = run.InCluster
	f.StringVar(&v.Against, "against", "", "compare with the snapshot in this file instead of the cluster's")
	f.BoolVar(&v.AllPods, "all-pods", false, "also read the pods of all namespaces, for in-tree volumes in their specs")
	return c
}

func (o *options) verify(ctx context.Context, v run.Verify) error {
	if err := run.CheckAccept(v.Target.Accept, run.KnownRules(formats())); err != nil {
		return err
	}
	verdict, kept, err := v.Run(ctx)
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintln(o.Err, kept)
	}
	all := o.collect("verify")
	if o.OutputFormat == "text" {
		report.WriteVerification(o.Out, o.Palette, verdict)
	} else {
		all.WriteOne(verdict, verdict.Subject(cmp.Or(v.Cluster, v.From, "cluster")), report.FindingTable)
	}
	if !verdict.OK {
		all.Code = max(all.Code, transform.ExitFound)
	}
	return withCode(all.Code)
}

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
