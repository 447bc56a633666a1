// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
	"github.com/rke-lm/rke-lm/transform/live/verify"
	"github.com/rke-lm/rke-lm/transform/review"
)

// Rules returns all rules by their names, with their reasons, or those of a name: what distros have in common is
// one row, and what a kind of clusters has in its own way another one.
func Rules(distros []transform.Distro, named ...string) (all []report.Rule, err error) {
	add := func(of string, list ...transform.Rule) {
		for _, r := range list {
			all = report.AddRule(all, of, r)
		}
	}
	for _, d := range distros {
		add(d.Name, d.Rules...)
	}
	add("rancher", preconditions.Rules()...)
	add("review", review.Rules()...)
	add("live", verify.Rules()...)
	for _, d := range distros {
		add(d.Name, transform.CommentOutdated)
	}
	slices.SortStableFunc(all, func(a, b report.Rule) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range named {
		all = slices.DeleteFunc(all, func(r report.Rule) bool { return r.Name != name && transform.FormerName(r.Name) != name })
		if len(all) == 0 {
			return nil, errors.New("there is no rule " + name + "; " + Meant(name, RuleNames(distros), "rke-lm rules lists them"))
		}
	}
	return all, nil
}

// RuleNames are the names of all rules.
func RuleNames(distros []transform.Distro) []string {
	all, _ := Rules(distros) // it fails only for a name
	return slices.Compact(lists.Map(all, func(r report.Rule) string { return r.Name }))
}
