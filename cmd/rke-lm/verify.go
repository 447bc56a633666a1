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
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	*options
	work run.Verify
}

func newVerify(o *options) *cobra.Command {
	v := &verifyOptions{options: o, work: run.Verify{Connector: &o.Connector, Engine: engine, In: o.in}}
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
		RunE: func(c *cobra.Command, _ []string) error { return v.run(c.Context()) },
	}
	f := c.Flags()
	v.connectionFlags(c)
	v.clusterFlag(f)
	o.outputFlag(c, everyFormat...)
	f.StringVar(&v.work.Stage, "stage", "", "also check the result of this stage")
	oneOf(c, "stage", stages.Names())
	pathFlags(f, &v.work.Target)
	f.StringVar(&v.work.Target.Version, "target-version", "", "release of the planned upgrade")
	f.StringArrayVar(&v.work.Target.Accept, "accept", nil, "accept the errors of a rule (repeatable)")
	f.DurationVar(&v.work.Wait, "wait", 0, "check again for this time while there are errors")
	f.StringVar(&v.work.From, "from", "", "check this dump, or the output of kubectl get -o yaml, instead of a live cluster; - for standard input")
	f.StringVar(&v.work.Dump, "dump", "", "write a dump of the cluster to this file")
	f.StringVar(&v.work.Snapshot, "snapshot", "", "write a snapshot to this file; without a file, to the ConfigMap kube-system/"+observe.SnapshotName)
	f.Lookup("snapshot").NoOptDefVal = run.InCluster
	f.StringVar(&v.work.Against, "against", "", "compare with the snapshot in this file instead of the cluster's")
	f.BoolVar(&v.work.AllPods, "all-pods", false, "also read the pods of all namespaces, for in-tree volumes in their specs")
	return c
}

func (v *verifyOptions) run(ctx context.Context) error {
	if err := run.CheckAccept(v.work.Target.Accept, run.KnownRules(distros())); err != nil {
		return err
	}
	verdict, kept, err := v.work.Run(ctx)
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintln(v.Err, kept)
	}
	if v.Format == "text" {
		report.WriteVerification(v.Out, v.Palette, verdict)
	} else {
		err = v.collect("verify").WriteOne(verdict, verdict.Subject(cmp.Or(v.Cluster, v.work.From, "cluster")), report.FindingTable)
	}
	if err != nil || verdict.OK {
		return err
	}
	return withCode(exitcode.Found)
}
