// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of flags in --help. What is in none is the verb's own.
const (
	groupAnnotation = "rke-lm/group"

	inputGroup      = "Input Flags"
	choiceGroup     = "Flags of Choice"
	connectionGroup = "Connection Flags"
	wavesGroup      = "Flags for Many Clusters"
)

// group puts the flags that are defined until the function it returns is called into a
// group.
func group(f *pflag.FlagSet, name string) func() {
	before := map[string]bool{}
	f.VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	return func() {
		f.VisitAll(func(one *pflag.Flag) {
			if !before[one.Name] && one.Annotations[groupAnnotation] == nil {
				f.SetAnnotation(one.Name, groupAnnotation, []string{name}) // it fails only for a flag that does not exist
			}
		})
	}
}

// groupOf is the group of a flag.
func groupOf(f *pflag.Flag) string {
	if name := f.Annotations[groupAnnotation]; name != nil {
		return name[0]
	}
	return "Flags"
}

// usage is what cobra prints, with the flags in their groups.
func usage(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprint(w, "Usage:")
	if c.Runnable() {
		fmt.Fprintf(w, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n  %s [command]", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\n\nExamples:\n%s", c.Example)
	}
	writeCommands(w, c)
	for _, name := range []string{"Flags", wavesGroup, inputGroup, choiceGroup, connectionGroup} {
		writeFlags(w, name, c.LocalFlags(), name)
	}
	writeFlags(w, "Global Flags", c.InheritedFlags(), "Flags")
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	_, err := fmt.Fprintln(w)
	return err
}

func writeCommands(w io.Writer, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	fmt.Fprint(w, "\n\nAvailable Commands:")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			fmt.Fprintf(w, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
}

// writeFlags writes those of a group, as wide as the terminal.
func writeFlags(w io.Writer, heading string, flags *pflag.FlagSet, group string) {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if groupOf(f) == group {
			some.AddFlag(f)
		}
	})
	if some.HasAvailableFlags() {
		fmt.Fprintf(w, "\n\n%s:\n%s", heading, strings.TrimRight(some.FlagUsagesWrapped(width(underneath(w))), "\n"))
	}
}
