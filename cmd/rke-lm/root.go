// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/internal/source"
)

// options are the choices that several verbs share.
type options struct {
	streams
	color   string
	noColor bool
	verbose bool // a line for each cluster
	report.Output
	run.Search

	given       *pflag.FlagSet  // of the verb that runs
	config      string          // file with choices
	configured  map[string]bool // flags that it has set
	exclude     []string        // patterns of files that are not read
	excludeFrom string          // the folder that they start at; "" for the current one
}

func newRoot(s streams) *cobra.Command {
	o := &options{streams: s, Output: report.Output{Out: s.out, Err: s.err, Data: s.data}}
	o.Search = run.Search{Connector: run.Connector{Network: s.network, Notes: s.err}, Formats: formats(), In: s.in, Options: run.Options{Progress: s.progress, Finder: clusters.Finder{Overlays: source.NewOverlays(source.Disk{})}}}
	root := &cobra.Command{
		Use:   "rke-lm",
		Short: "Migrate a Rancher cluster from the in-tree AWS cloud provider, stage by stage",
		Long: `rke-lm plans, applies and proves the leader migration of a Rancher cluster from
the in-tree AWS cloud provider to the external aws-cloud-controller-manager.

It reads the cluster's own YAML, from files or from a live Rancher, shows every
stage as a small diff, and changes only what the stage promises.`,
		Args:          unknownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	printVersion := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if !*printVersion {
			return c.Help()
		}
		fmt.Fprint(o.Out, currentBuild())
		return nil
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.PersistentFlags().StringVar(&o.color, "color", report.ColorAuto, "colors in the output: auto, always, never (also: NO_COLOR, CLICOLOR_FORCE)")
	oneOf(root, "color", []string{report.ColorAuto, report.ColorAlways, report.ColorNever})
	root.PersistentFlags().BoolVar(&o.noColor, "no-color", false, "the same as --color never")
	root.PersistentFlags().StringVar(&o.config, "config", "", "YAML file with migration options, such as end-state: external; flags on the command line take precedence")
	helpFlags(root.PersistentFlags())
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if c.Name() == cobra.ShellCompRequestCmd {
			o.completeFlags(root)
			return nil
		}
		o.given = c.Flags()
		o.UserAgent = programName + "/" + currentBuild().Version
		if err := cmp.Or(checkGiven(c.Flags()), checkGroups(c.Flags()), o.checkValues(c.Flags())); err != nil {
			return err
		}
		if _, later := c.Annotations[configFromBase]; later {
			return nil
		}
		return cmp.Or(o.configure(c.Flags()), o.leaveOut())
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newPlan(o), newApply(o), newExplain(o), newLint(o), newReview(o), newVerify(o), newLeaders(o), newStatus(o),
		newMigrate(o), newRollback(o), newController(o),
		newDeployment(o), newLeaderMigrationConfig(o), newRules(o), newVersion(o), newManual(o))
	call(root, calledAs(os.Args[0]))
	root.SetUsageFunc(usage)
	root.SetHelpFunc(help)
	addCommands(root)
	return root
}

// collect collects the results of a verb about the clusters in paths, or those that the flags name.
func (o *options) collect(verb string, paths ...string) *report.Collector {
	all := report.NewCollector(&o.Output, report.Results{Verb: verb, Version: currentBuild().Version, Rules: run.KnownRules(formats())})
	all.Verbose = o.verbose
	all.Paths = paths
	all.Flags, all.Server, all.Selected = o.repeated()
	return all
}
