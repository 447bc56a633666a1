// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/run"
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
// line. Cobra keeps every function that it is given, and with it the flags of all verbs. What cannot be read is not
// completed: only the verb reports why.
func (o *options) completeFlags(root *cobra.Command) {
	of := map[string]cobra.CompletionFunc{
		"distro":   cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp),
		"accept":   cobra.FixedCompletions(run.Acceptable(run.KnownRules(formats())), cobra.ShellCompDirectiveNoFileComp),
		manualDone: cobra.FixedCompletions(stages.Names(), cobra.ShellCompDirectiveNoFileComp),
		"out":      cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs), "plan": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"context": completed(func(context.Context) ([]string, error) {
			return kube.Contexts(kube.Connection{Kubeconfig: o.Kubeconfig})
		}),
		"cluster": completed(o.Clusters), "canary": completed(o.Clusters),
		"rancher-cli": completed(func(context.Context) ([]string, error) { return rancher.Servers() }),
		"dry-run": func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			values := []string{onClient, onServer}
			if c.Name() != "apply" { // the verb that writes to a server
				values = values[:1]
			}
			return values, cobra.ShellCompDirectiveNoFileComp
		},
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

// completed offers names that have to be read first.
func completed(read func(context.Context) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		names, _ := read(ctx)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
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
			for _, shell := range c.Commands() {
				shell.Args = noFiles
			}
		}
	}
}

// newManual writes the pages of the manual, for packages.
func newManual(o *options) *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the pages of the manual",
		Long:   "Write a page of the manual for each command into a folder. The date is that of SOURCE_DATE_EPOCH, or today.",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := c.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "rke-lm " + currentBuild().Version, Manual: "rke-lm"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			fmt.Fprintf(o.Err, "%s: pages written\n", args[0])
			return nil
		},
	}
}
