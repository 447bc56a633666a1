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
