// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newMigrate(o *options) *cobra.Command {
	m := &runOptions{options: o}
	c := &cobra.Command{
		Use:   "migrate --cluster CLUSTER",
		Short: "Take a live cluster of a Rancher through the stages, each waited for and checked",
		Long: `Take a live cluster of a Rancher through the stages that are left, in their order.
Each is shown, confirmed, done, waited for until every machine has it, and checked
on the cluster itself before the next. The run stops at the first check that does
not hold, and says what is done and how to go on or back.

A run that was ended, by whatever means, is gone on with by the same command.
Nothing is remembered outside of the cluster. A lock keeps two runs off one cluster;
that of a run that died is taken over after 15 seconds. Nodes that were cordoned for
the switch are released on every way out, or by the next run.`,
		Example: `  rke-lm migrate --cluster fleet-default/harbour --rancher-url https://rancher.example.com
  rke-lm migrate --cluster c-m-abcdefgh --until install-ccm --yes --audit-log audit.jsonl
  rke-lm migrate --cluster harbour --end-state external --etcd-snapshot --yes -o json`,
		Args: cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if m.run.Until != "" {
			if err := checkOneOf("until", m.run.Until, stages.Names()...); err != nil {
				return err
			}
		}
		return m.start(c.Context(), c, migrate.Forward)
	}
	m.flags(c)
	c.Flags().StringVar(&m.run.Until, "until", "", "the last stage to do (default: all)")
	c.Flags().BoolVar(&m.run.EtcdSnapshot, "etcd-snapshot", false, "let Rancher take a snapshot of etcd before the first write and before the switch")
	complete(c, "until", stages.Names())
	return c
}
