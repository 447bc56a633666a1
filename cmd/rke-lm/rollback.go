// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newRollback(o *options) *cobra.Command {
	b := &runOptions{options: o}
	c := &cobra.Command{
		Use:   "rollback --cluster CLUSTER",
		Short: "Take stages of a live cluster of a Rancher back, the last one first",
		Long: `Take stages of a live cluster of a Rancher back, the last one first, each waited
for and checked as migrate does. The in-tree provider and the flag of leader migration
come back in one edit, so that no two managers own the cloud controllers. With --to the
cluster stands behind that stage at the end; without it, before the first.

Give the choices that the migration was made with. Where the object does not tell what
was there before a stage, the run is refused before anything is changed; --canonical
takes the usual form. A cluster that runs Kubernetes 1.27 or later has no in-tree
provider to go back to: that is the point of no return.`,
		Example: `  rke-lm rollback --cluster fleet-default/harbour --rancher-url https://rancher.example.com
  rke-lm rollback --cluster harbour --to install-ccm --yes`,
		Args: cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if b.run.Planner.To != "" {
			if err := checkOneOf("to", b.run.Planner.To, stages.Names()...); err != nil {
				return err
			}
		}
		return b.start(c.Context(), c, migrate.Backward)
	}
	b.flags(c)
	c.Flags().StringVar(&b.run.Planner.To, "to", "", "the stage behind which the cluster shall stand (default: before all)")
	c.Flags().BoolVar(&o.choices.Canonical, "canonical", false, "where the object does not tell how something was written before, take the usual form")
	complete(c, "to", stages.Names())
	return c
}
