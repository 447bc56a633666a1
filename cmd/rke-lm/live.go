// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
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
	oneOf(c.Flags(), "stage", stages.Names())
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

// naming are the flags that name a server, a cluster or a file of one.
var naming = []string{"cluster", "selector", "context", "kubeconfig", "rancher-url", "rancher-cli", run.CCMValues}

// checkGiven refuses an empty one, as a shell makes of a variable that is not set: it
// would mean another cluster than the one that was meant.
func checkGiven(flags *pflag.FlagSet) error {
	for _, name := range naming {
		if f := flags.Lookup(name); f != nil && f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return fmt.Errorf("--%s is empty; set a value, or remove it", name)
		}
	}
	return nil
}

// connectionFlags are those of every verb that connects to something.
func (c *options) connectionFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&c.Context, "context", "", "context of the kubeconfig (default: the current context)")
	f.StringVar(&c.Rancher, "rancher-url", "", "URL of a Rancher, instead of a kubeconfig; the token is read from "+rancher.TokenVariable+" or --token-file")
	f.StringVar(&c.TokenFile, "token-file", "", "file with the token for that Rancher")
	f.StringVar(&c.CLI, "rancher-cli", "", "a server of the Rancher CLI, instead of a kubeconfig (default: the current server)")
	f.Lookup("rancher-cli").NoOptDefVal = rancher.CurrentServer
	f.StringVar(&c.Authority, "cacert", "", "file with the CA certificate of the server")
	f.BoolVar(&c.Insecure, "insecure-skip-tls-verify", false, "do not verify the certificate of the server: any server at this address gets the token")
	cmd.MarkFlagsMutuallyExclusive("rancher-url", "rancher-cli", "kubeconfig")
	cmd.MarkFlagsMutuallyExclusive("rancher-url", "rancher-cli", "context")
	cmd.MarkFlagsMutuallyExclusive("cacert", "insecure-skip-tls-verify")
	group(f, connectionGroup)
}

// clusterFlag is that of verbs about one cluster.
func (c *options) clusterFlag(f *pflag.FlagSet) {
	f.StringVar(&c.Cluster, "cluster", "", "a cluster of a Rancher; NAMESPACE/NAME, a name, or an ID such as c-m-abcdefgh")
	group(f, connectionGroup)
}

// clusterFlags are those of verbs about several clusters.
func (c *options) clusterFlags(cmd *cobra.Command) {
	c.clusterFlag(cmd.Flags())
	cmd.Flags().StringVarP(&c.Selector, "selector", "l", "", "the clusters of a Rancher with these labels")
	cmd.MarkFlagsMutuallyExclusive("cluster", "selector")
	group(cmd.Flags(), connectionGroup)
}

// allFlags are those of verbs about files that also take clusters of a Rancher.
func (c *options) allFlags(cmd *cobra.Command) {
	c.fileFlags(cmd.Flags())
	c.connectionFlags(cmd)
	c.clusterFlags(cmd)
	c.targetFlags(cmd.Flags())
}

// repeated are the flags of the command line that another command about the same clusters takes too: the migration
// options with the configuration file that they name, and the connection. What the configuration of the folder chooses
// applies by itself. selected are those that select the clusters among others.
func (o *options) repeated() (choices, server, selected []string) {
	o.given.Visit(func(f *pflag.Flag) {
		switch group := groupOf(f); {
		case o.configured[f.Name] || f.Name == "cluster":
		case slices.Contains([]string{"exclude", "skip-unknown"}, f.Name):
			selected = append(selected, flagWords(f)...)
		case group == connectionGroup:
			server = append(server, flagWords(f)...)
		case group == choiceGroup || group == inputGroup || f.Name == "config":
			choices = append(choices, flagWords(f)...)
		}
	})
	return choices, server, selected
}

// commandLine returns the command line of another verb with the flags that were
// given, except some.
func commandLine(cmd *cobra.Command, verb string, except ...string) string {
	return action.Words(slices.Concat([]string{"rke-lm", verb}, givenFlags(cmd, except...))...)
}

// givenFlags are the flags that were given, except some, as they are typed.
func givenFlags(cmd *cobra.Command, except ...string) (words []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(except, f.Name) {
			words = append(words, flagWords(f)...)
		}
	})
	return words
}

// flagWords is a flag as it is typed: a list once for each value.
func flagWords(f *pflag.Flag) (words []string) {
	values := []string{f.Value.String()}
	if list, is := f.Value.(pflag.SliceValue); is {
		values = list.GetSlice()
	}
	for _, v := range values {
		if v != "" && v == f.NoOptDefVal {
			words = append(words, "--"+f.Name)
		} else {
			words = append(words, "--"+f.Name+"="+v)
		}
	}
	return words
}
