// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/transform/action"
)

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
