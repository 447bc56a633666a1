// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/review"
)

// ruleSet are the rules of a kind of clusters, or of what is checked in another way.
type ruleSet struct {
	of    string
	rules []transform.Rule
}

// ruleSets are those of files, by format, of objects, of changes and of live clusters.
func ruleSets(formats []transform.Format) []ruleSet {
	sets := lists.Map(formats, func(d transform.Format) ruleSet {
		return ruleSet{d.Name, append(slices.Clip(d.Rules), plan.CommentOutdated)}
	})
	return append(sets, ruleSet{"rancher", rollout.Rules()}, ruleSet{"review", review.Rules()}, ruleSet{"live", check.Rules()})
}

// KnownRules are all rules; one that several formats have is in each. Every verb knows all of them, because a
// configuration file accepts for all verbs.
func KnownRules(formats []transform.Format) []transform.Rule {
	return lists.Flat(ruleSets(formats), func(set ruleSet) []transform.Rule { return set.rules })
}

// Rules returns all rules by their names, with their reasons, or those of a name: what formats have in common is
// one row, and what a kind of clusters has in its own way another one.
func Rules(formats []transform.Format, named ...string) (all []report.Rule, err error) {
	for _, set := range ruleSets(formats) {
		for _, r := range set.rules {
			all = report.AddRule(all, set.of, r)
		}
	}
	slices.SortStableFunc(all, func(a, b report.Rule) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range named {
		all = slices.DeleteFunc(all, func(r report.Rule) bool { return r.Name != name && transform.FormerName(r.Name) != name })
		if len(all) == 0 {
			return nil, errors.New("there is no rule " + name + "; " + args.Meant(name, RuleNames(formats), "rke-lm rules lists them"))
		}
	}
	return all, nil
}

// RuleNames are the names of all rules.
func RuleNames(formats []transform.Format) []string {
	all, _ := Rules(formats) // it fails only for a name
	return slices.Compact(lists.Map(all, func(r report.Rule) string { return r.Name }))
}
