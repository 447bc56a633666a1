// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newRollback(o *options) *cobra.Command {
	b := newRun(o)
	c := &cobra.Command{
		Use:   "rollback --cluster CLUSTER",
		Short: "Undo stages of a live cluster of a Rancher",
		Long: `Undo stages of a live cluster of a Rancher, the last one first, each rolled out and
checked as migrate does. One edit restores the in-tree provider and the flag of leader
migration, so that there are never two managers that run the cloud controllers. With --to the
result is the state after that stage; without it, the state before the first stage.

Use the choices of the migration. If the object does not show what was there before a
stage, the run is refused before anything is changed; --canonical uses the usual form.
A cluster with Kubernetes 1.27 or later has no in-tree provider to roll back to: that is
the point of no return.`,
		Example: `  rke-lm rollback --rancher-cli --cluster fleet-default/harbour
  rke-lm rollback --cluster harbour --to install-ccm --yes`,
		Args: noFiles,
		RunE: func(c *cobra.Command, _ []string) error { return b.start(c, migrate.Backward) },
	}
	o.clusterFlag(c.Flags())
	b.flags(c)
	c.Flags().StringVar(&b.work.Chosen.Planner.To, "to", "", "the stage to roll back to (default: before all stages)")
	c.Flags().BoolVar(&o.Target.CanonicalForm, "canonical", false, "if the object does not show the previous form, use the usual form")
	oneOf(c, "to", stages.Names())
	return c
}
