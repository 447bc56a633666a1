// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/transform"
)

const byHand = "by-hand"

// byHandFlag adds --by-hand, with its completion.
func byHandFlag(c *cobra.Command, to *[]string) {
	defineByHand(c.Flags(), to)
	complete(c, byHand, transform.StageNames())
}

func defineByHand(f *pflag.FlagSet, to *[]string) {
	f.StringArrayVar(to, byHand, nil, "a stage whose commands somebody has run by hand (repeatable)")
}

func checkByHand(stages []string) error {
	for _, s := range stages {
		if err := checkOneOf(byHand, s, transform.StageNames()...); err != nil {
			return err
		}
	}
	return nil
}
