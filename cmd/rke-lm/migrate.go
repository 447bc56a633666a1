// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newMigrate(o *options) *cobra.Command {
	m := newRun(o)
	c := &cobra.Command{
		Use:   "migrate {--cluster CLUSTER | --selector SELECTOR}",
		Short: "Migrate live clusters of a Rancher, stage by stage",
		Long: `Apply the remaining stages to a live cluster of a Rancher, in their order. Each stage
is shown, confirmed, applied, rolled out to every machine, and checked on the cluster
before the next. The run stops at the first check that fails, and prints what is done
and how to continue or roll back.

The same command continues a run that was interrupted. There is no state outside of
the cluster. A lock prevents two runs on one cluster; that of a run that died expires
after 15 seconds. Nodes that were cordoned for the switch are uncordoned whenever a
run ends, or by the next run.

With --selector all clusters with these labels are migrated, each by a run of its own:
first the canaries, then in waves of --wave-size clusters, and --max-unavailable of them
at the same time. Each wave is confirmed. No wave starts before all clusters of the one
before it have ended. After more than --max-failures failures, or if a canary fails,
no other cluster starts, and those in progress finish. The end is a report.`,
		Example: `  rke-lm migrate --cluster harbour --rancher-url https://rancher.example.com
  rke-lm migrate --cluster harbour --until install-ccm --yes
  rke-lm migrate --cluster harbour --end-state external --etcd-snapshot -o json
  rke-lm migrate --cluster c-m-abcdefgh --yes --audit-log audit.jsonl
  rke-lm migrate --cluster harbour --restart-command 'ssh "ec2-user@$ADDRESS" sudo "$COMMAND"' --yes
  rke-lm migrate -l env=staging --canary fleet-default/harbour --wave-size 5 --max-unavailable 2 --yes`,
		Args: noFiles,
	}
	var restart string
	c.RunE = func(c *cobra.Command, _ []string) error {
		if restart != "" {
			m.work.Chosen.Restart = migrate.RestartCommand(restart).Restart
		}
		if err := m.checkWaves(c.Flags()); err != nil {
			return err
		}
		if m.Selector != "" {
			return m.startMany(c)
		}
		return m.start(c, migrate.Forward)
	}
	o.clusterFlags(c)
	m.wavesFlags(c.Flags())
	m.flags(c)
	c.Flags().StringVar(&m.work.Chosen.Until, "until", "", "the last stage to apply (default: all)")
	c.Flags().BoolVar(&m.work.Chosen.EtcdSnapshot, "etcd-snapshot", false, "take an etcd snapshot with Rancher before the first write and before the switch")
	c.Flags().StringVar(&restart, "restart-command", "", "run this in a shell to restart the kubelet of a machine whose Node was drained and deleted to register again; NODE, ADDRESS and COMMAND are set")
	c.Flags().BoolVar(&m.work.Chosen.CanaryService, "canary-service", false, "at the end, prove that the cloud controllers work: a Service of type LoadBalancer gets an address and is deleted, no provider ID has changed, and no Event reports an error; with --selector only in the first wave")
	oneOf(c, "until", stages.Names())
	return c
}

// wavesFlags are those that only many clusters have.
var wavesFlags = []string{"canary", "wave-size", "max-unavailable", "max-failures"}

func (c *runOptions) wavesFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&c.work.Canaries, "canary", nil, "a cluster of the first wave, in which no failure is tolerated (repeatable)")
	f.IntVar(&c.work.Size, "wave-size", 0, "number of clusters in each of the other waves (default: one wave with all of them)")
	f.IntVar(&c.work.Limits.Unavailable, "max-unavailable", 1, "most clusters that are migrated at the same time")
	f.IntVar(&c.work.Limits.Failures, "max-failures", 0, "most clusters that can fail before no other one starts")
	group(f, wavesGroup)
}

// checkWaves refuses them for one cluster, where they mean nothing.
func (c *runOptions) checkWaves(f *pflag.FlagSet) error {
	for _, name := range wavesFlags {
		if c.Selector == "" && f.Changed(name) {
			return fmt.Errorf("--%s requires --selector; add it, or remove --%[1]s", name)
		}
	}
	return c.work.CheckWaves()
}

// startMany finds the clusters and migrates them in waves.
func (c *runOptions) startMany(cmd *cobra.Command) error {
	if err := c.check(cmd.Name()); err != nil {
		return err
	}
	c.work.Show = func(m migrate.Member, e migrate.Event) {
		c.shown.Many.Waves = c.work.Waves
		c.shown.Show(m, e)
	}
	if !c.yes {
		c.work.Agree = c.shown.Agree
	}
	except := append([]string{"selector"}, wavesFlags...)
	c.work.Continue, c.work.Revert = givenFlags(cmd, except...), givenFlags(cmd, append(except, forwardFlags...)...)
	s, err := c.work.Many(cmd.Context())
	if err != nil {
		return err
	}
	return cmp.Or(c.shown.WriteSummary(s, commandLine(cmd, cmd.Name())), withCode(c.shown.Code))
}
