// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
)

func newRules(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "rules [RULE]",
		Short: "List the rules, or explain one",
		Long: `List the rules of all findings, or explain one of them: what it finds and for which
clusters, which stages its errors block, what happens otherwise and where that can be
read, how to correct it, and when it can be accepted with --accept.`,
		Example: `  rke-lm rules
  rke-lm rules node-rename
  rke-lm rules -o json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New(args[1] + ": rke-lm rules explains one rule; remove it")
			}
			list, err := run.Rules(formats(), args...)
			if err != nil {
				return err
			}
			if o.OutputFormat != "text" {
				return o.Dump(report.Rules{TypeMeta: report.Type("Rules"), Rules: list})
			}
			b := bufio.NewWriter(o.Out)
			if len(args) > 0 {
				report.WriteRules(b, o.Palette, list)
			} else {
				report.WriteRuleList(b, o.Palette, list)
			}
			return b.Flush()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return run.RuleNames(formats()), cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.outputFlag(c, "text", "json", "yaml")
	return c
}
