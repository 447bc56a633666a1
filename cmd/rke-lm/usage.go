// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// The groups of flags in --help. What is in none is the verb's own.
const (
	groupAnnotation = "rke-lm/group"

	ownGroup        = "Flags"
	inputGroup      = "Input Flags"
	choiceGroup     = "Migration Options"
	connectionGroup = "Connection Flags"
	wavesGroup      = "Flags for Many Clusters"
	globalGroup     = "Global Flags"
)

// group puts the flags that are in no group yet into one.
func group(f *pflag.FlagSet, name string) {
	f.SortFlags = false // for a visit in no order, which sorts nothing
	f.VisitAll(func(one *pflag.Flag) {
		if one.Annotations[groupAnnotation] == nil {
			f.SetAnnotation(one.Name, groupAnnotation, []string{name}) // it fails only for a flag that does not exist
		}
	})
	f.SortFlags = true
}

// groupOf is the group of a flag.
func groupOf(f *pflag.Flag) string {
	if name := f.Annotations[groupAnnotation]; name != nil {
		return name[0]
	}
	return ownGroup
}

// inShort are the flags of groups that --help explains; it names the others, and the verbs' own ones that are rare.
var (
	inShort = []string{"accept", "cluster", "context", "end-state", "rancher-url", "selector"}
	rare    = []string{"against", "all-pods", "audit-log", "canary-service", "canonical", "dump", "max-bytes", "replace", "restart-command", "verbose"}
)

// help prints what a command does, or the first paragraph of it, and its usage.
func help(c *cobra.Command, _ []string) {
	text := cmp.Or(c.Long, c.Short)
	if !c.Flags().Changed("help-all") {
		text, _, _ = strings.Cut(text, "\n\n")
	}
	page := pageOf(report.Width(c.OutOrStdout()))
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		fmt.Fprintf(c.OutOrStdout(), "%s\n\n", page.Wrap(paragraph, ""))
	}
	_ = usage(c) // standard output reports its own errors
}

// usage is what cobra prints, with the flags in their groups, and without --help-all the first examples.
func usage(c *cobra.Command) error {
	w := c.OutOrStdout()
	fmt.Fprint(w, "Usage:")
	if c.Runnable() {
		fmt.Fprintf(w, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n  %s [command]", c.CommandPath())
	}
	if c.HasExample() {
		lines := strings.Split(c.Example, "\n")
		if !c.Flags().Changed("help-all") {
			lines = lines[:min(len(lines), 3)]
		}
		fmt.Fprintf(w, "\n\nExamples:\n%s", strings.Join(lines, "\n"))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprint(w, "\n\nAvailable Commands:")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(w, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	writeFlags(w, c)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	_, err := fmt.Fprintln(w)
	return err
}

// pageOf wraps text for so many columns; 0 are 80. Wrap keeps the last one free, which help fills.
func pageOf(columns int) report.Palette { return report.Palette{Width: cmp.Or(columns, 80) + 1} }

// writeFlags writes the flags of a verb by their groups, as wide as the terminal; without --help-all it only names some.
func writeFlags(w io.Writer, c *cobra.Command) {
	of, named := map[string]*pflag.FlagSet{}, []string{}
	add := func(f *pflag.Flag, group string) {
		short := *f
		switch {
		case c.Flags().Changed("help-all"):
		case f.Name == "help" || f.Name == "help-all":
			group = ownGroup
		case slices.Contains(rare, f.Name) || group != ownGroup && !slices.Contains(inShort, f.Name):
			named = append(named, "--"+f.Name)
			return
		default:
			group = ownGroup
			short.Usage, _, _ = strings.Cut(f.Usage, "; ")
			short.Usage, _, _ = strings.Cut(short.Usage, " (")
		}
		if of[group] == nil {
			of[group] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		of[group].AddFlag(&short)
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { add(f, groupOf(f)) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { add(f, globalGroup) })
	columns := report.Width(w)
	for _, group := range []string{ownGroup, wavesGroup, inputGroup, choiceGroup, connectionGroup, globalGroup} {
		if f := of[group]; f != nil {
			fmt.Fprintf(w, "\n\n%s:\n%s", group, strings.TrimRight(f.FlagUsagesWrapped(columns), "\n"))
		}
	}
	if len(named) > 0 {
		fmt.Fprintf(w, "\n\nMore flags, which --help-all explains:\n%s", pageOf(columns).Wrap(strings.Join(named, " "), "  "))
	}
}

// programName is that of the program where nothing calls it by another one.
const programName = "rke-lm"

// call shows in usage and examples the name by which a user runs the program at a path: as a plugin, kubectl finds it as
// kubectl-leader_migration.
func call(root *cobra.Command, path string) {
	name := programName
	if plugin, is := strings.CutPrefix(strings.TrimSuffix(filepath.Base(path), ".exe"), "kubectl-"); is {
		name = "kubectl " + strings.NewReplacer("-", " ", "_", "-").Replace(plugin)
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	for _, c := range root.Commands() {
		c.Example = strings.ReplaceAll(c.Example, programName+" ", name+" ")
	}
}

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
			return kube.Contexts(o.Connection)
		}),
		"cluster": completed(o.Clusters), "canary": completed(o.Clusters),
		"rancher-cli": completed(func(context.Context) ([]string, error) { return rancher.Servers() }),
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
		ctx, cancel := context.WithTimeout(c.Context(), 3*time.Second) // the shell waits
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
