// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// completionTime is for how long a shell waits for the names of clusters.
const completionTime = 3 * time.Second

// freeText are flags whose values only the user knows. Flags in none of the lists here take
// files.
var freeText = []string{
	"assume-version", "ccm-image-repository", "ccm-image-tag", "ccm-version", "chart-repo", "chart-version", "for", "key", "kubernetes-version",
	"base", "head", "lease-duration", "lease-name", "max-bytes", "max-failures", "max-runs", "max-unavailable", "metrics-bind-address", "namespace", "rancher-url", "rancher-version", "replicas", "rke-version", "selector", "target-version", "timeout", "wait", "wave-size",
}

// completeFlags gives the flags of all verbs their values, for a shell that completes a command
// line. Cobra keeps every function that it is given, and with it the flags of all verbs.
func (o *options) completeFlags(root *cobra.Command) {
	of := map[string]cobra.CompletionFunc{
		"distro":   cobra.FixedCompletions(distroNames(), cobra.ShellCompDirectiveNoFileComp),
		"dry-run":  completeDryRun,
		"accept":   completeAccept,
		manualDone: cobra.FixedCompletions(stages.Names(), cobra.ShellCompDirectiveNoFileComp),
		"context":  o.completeContext, "cluster": o.completeCluster, "canary": o.completeCluster, "rancher-cli": completeServer,
		"out": folders, "plan": folders,
	}
	for flag, values := range run.ChoiceValues {
		of[flag] = cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	for _, flag := range freeText {
		of[flag] = cobra.NoFileCompletions
	}
	for _, c := range append(root.Commands(), root) {
		give := func(f *pflag.Flag) {
			completed := of[f.Name]
			if values, fixed := f.Annotations[valuesOf]; fixed {
				completed = cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
			}
			if _, has := c.GetFlagCompletionFunc(f.Name); !has && completed != nil {
				c.RegisterFlagCompletionFunc(f.Name, completed) // it fails only for flags that do not exist, or have one
			}
		}
		c.Flags().VisitAll(give)
		c.PersistentFlags().VisitAll(give)
	}
}

// completeDryRun offers the server only to the verb that writes to one.
func completeDryRun(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	values := []string{onClient}
	if c.Name() == "apply" {
		values = append(values, onServer)
	}
	return values, cobra.ShellCompDirectiveNoFileComp
}

func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeAccept offers the rules that can be accepted.
func completeAccept(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return run.Acceptable(run.KnownRules(distros())), cobra.ShellCompDirectiveNoFileComp
}

// completeContext offers the contexts of the kubeconfig. What cannot be read is not
// completed: only the verb reports why.
func (o *options) completeContext(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, _ := kube.Contexts(kube.Connection{Kubeconfig: o.Kubeconfig})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeServer offers the servers of the Rancher CLI.
func completeServer(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, _ := rancher.Servers()
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeCluster asks the Rancher of the other flags for its clusters.
func (o *options) completeCluster(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	o.Notes = io.Discard
	server, err := o.Connect(0)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, _ := server.Find(ctx, rancher.Query{})
	return lists.Map(found, rancher.Object.Title), cobra.ShellCompDirectiveNoFileComp
}

// addCommands adds those that cobra makes, and checks what is given to them.
func addCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Long = "Show what a command is for, and its flags."
			c.Args = func(_ *cobra.Command, args []string) error {
				if found, rest, _ := root.Find(args); found == root {
					return unknownCommand(root, rest)
				}
				return nil
			}
		case "completion":
			c.Short, c.Args = "Generate the autocompletion script for a shell", unknownCommand
			c.Long = "Generate the autocompletion script for a shell. The help of each shell shows how to load it."
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() } // cobra checks the arguments of what runs
		}
	}
}
