// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
	"github.com/rke-lm/rke-lm/transform/live/verify"
	"github.com/rke-lm/rke-lm/transform/review"
	nearmiss "github.com/rke-lm/rke-lm/transform/spelling"
)

// What a rule checks that belongs to no distro.
const (
	onLiveClusters = "live"
	onObjects      = "rancher"
	onChanges      = "review"
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
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := rulesNamed(args)
			if err != nil {
				return err
			}
			return o.showRules(list, len(args) > 0)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return ruleNames(explainedRules()), cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.outputFlag(c, "text", "json", "yaml")
	return c
}

// showRules writes rules for programs, or for people: one explained, or all as a list.
func (o *options) showRules(list []report.Rule, explained bool) error {
	if o.output != "text" {
		return o.dump(report.Rules{APIVersion: report.APIVersion, Kind: "Rules", Rules: list})
	}
	b := bufio.NewWriter(o.out)
	if explained {
		report.WriteRules(b, o.palette(o.out), list)
	} else {
		report.WriteRuleList(b, o.palette(o.out), list)
	}
	return b.Flush()
}

// rulesNamed returns the rules of a name, one for each kind of cluster that has it in its
// own way; without a name all.
func rulesNamed(args []string) ([]report.Rule, error) {
	all := explainedRules()
	if len(args) == 0 {
		return all, nil
	}
	found := slices.DeleteFunc(slices.Clone(all), func(r report.Rule) bool { return r.Name != args[0] && transform.FormerName(r.Name) != args[0] })
	if len(found) == 0 {
		return nil, errors.New("there is no rule " + args[0] + "; " + meant(args[0], ruleNames(all), "rke-lm rules lists them"))
	}
	return found, nil
}

// meant suggests the known word that another one was meant to be, or gives other advice.
func meant(word string, known []string, otherwise string) string {
	if near, found := nearmiss.Nearest(word, known); found && near != word {
		return "did you mean " + near + "?"
	}
	return otherwise
}

func ruleNames(list []report.Rule) []string {
	return slices.Compact(lists.Map(list, func(r report.Rule) string { return r.Name }))
}

// explainedRules are all rules by their names, with their reasons. What distros have in
// common is one row.
func explainedRules() []report.Rule {
	var all []report.Rule
	add := func(of string, list []transform.Rule) {
		for _, r := range list {
			all = report.AddRule(all, of, r)
		}
	}
	for _, d := range distros() {
		add(d.Name, d.Rules)
	}
	add(onObjects, preconditions.Rules())
	add(onChanges, review.Rules())
	add(onLiveClusters, verify.Rules())
	for _, d := range distros() {
		add(d.Name, []transform.Rule{transform.CommentOutdated})
	}
	slices.SortStableFunc(all, func(a, b report.Rule) int { return strings.Compare(a.Name, b.Name) })
	return all
}
