// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

const byHand = "by-hand"

// byHandFlag adds --by-hand, with its completion.
func byHandFlag(c *cobra.Command, to *[]string) {
	defineByHand(c.Flags(), to)
	complete(c, byHand, stages.Names())
}

func defineByHand(f *pflag.FlagSet, to *[]string) {
	f.StringArrayVar(to, byHand, nil, "a stage whose commands were run manually (repeatable)")
}

func checkByHand(names []string) error {
	for _, s := range names {
		if err := checkOneOf(byHand, s, stages.Names()...); err != nil {
			return err
		}
	}
	return nil
}

// notShown means that no edit is left, and that the file does not show all of the migration.
type notShown struct{ found []transform.Finding }

// nothingLeft is the error of a plan without an edit that is left; nil if the file shows all of it.
func nothingLeft(p *transform.Plan) error {
	if found := p.NotShown(); len(found) > 0 {
		return &notShown{found}
	}
	return nil
}

func (*notShown) Error() string { return "no edit is left, and whether a manager runs is not known" }
