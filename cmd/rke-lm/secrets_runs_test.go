// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// fewRuns are enough where only the spelling differs.
var fewRuns = [][]string{
	{"plan"}, {"plan", "-o", "json", "--end-state", transform.EndStateOverride},
	{"plan", "-o", "yaml"}, {"plan", "-o", "markdown"}, {"plan", "-o", "html"},
	{"explain"}, {"explain", "-o", "json"}, {"lint"}, {"lint", "-o", "yaml"}, {"lint", "--fix", "--dry-run"},
	with(unblocking(), "apply", "--dry-run", "--through", "--stage", stages.DisableLeaderMigration),
}

// everyRun returns every verb with every format, stage and choice, without the
// path, as far as it writes nothing. Single stages and choices take turns, so
// that each has its kinds of secrets.
func everyRun(round int) [][]string {
	all := [][]string{
		{"plan"}, {"plan", "-o", "json"}, {"plan", "-o", "yaml"}, {"plan", "-o", "markdown"}, {"plan", "-o", "html"}, {"lint", "-o", "html"}, {"plan", "-o", "none"}, {"plan", "--stage", "none"},
		with(unblocking(), "plan", "--exit-code", "--distro", "rke2"),
		with(unblocking(), "plan", "-o", "json"),
		{"explain"}, {"explain", "-o", "json"}, {"explain", "-o", "yaml"},
		{"explain", "--key", "kube-controller-manager-arg"}, {"explain", "--key", "agent-token", "-o", "json"}, {"explain", "--key", "none"},
		{"lint"}, {"lint", "-o", "json"}, {"lint", "-o", "yaml"}, {"lint", "--fix", "--dry-run"},
		{"apply", "--next", "--dry-run"},
		{"apply", "--stage", stages.SwitchToExternal},              // refused: another stage comes first
		{"apply", "--stage", stages.SwitchToExternal, "--through"}, // blocked
	}
	for i, stage := range stages.Names() {
		if i%2 != round%2 {
			continue
		}
		all = append(all,
			[]string{"plan", "--stage", stage},
			[]string{"plan", "--stage", stage, "-o", "json"},
			[]string{"explain", "--diff", stage},
		)
	}
	for _, stage := range stages.EditNames() {
		all = append(all,
			with(unblocking(), "apply", "--dry-run", "--through", "--stage", stage),
			[]string{"apply", "--dry-run", "--undo", stage},
			[]string{"apply", "--dry-run", "--undo", stage, "--through", "--canonical"},
		)
	}
	for i, choice := range everyChoice {
		if i%(len(everyChoice)/2) != round%(len(everyChoice)/2) {
			continue
		}
		all = append(all,
			with(choice, "plan"), with(choice, "plan", "-o", "json"),
			with(choice, "explain", "--diff", stages.SwitchToExternal), with(choice, "lint"),
			with(append(unblocking(), choice...), "apply", "--dry-run", "--through", "--stage", stages.DisableLeaderMigration),
		)
	}
	return all
}

// everyChoice has all migration options, most of them with a value that is taken
// and one that is not.
var everyChoice = [][]string{
	{"--end-state", transform.EndStateOverride},
	{"--target-version", "v1.27.16+rke2r1"}, {"--target-version", "v1.28.15+rke2r1"}, {"--target-version", "none"},
	{"--end-state", transform.EndStateOverride, "--target-version", "v1.27.16+rke2r1"},
	{"--assume-version", "v1.24.17+rke2r1"},
	{"--no-leader-migration"}, {"--keep-leader-migration"}, {"--no-leader-migration", "--keep-leader-migration"},
	{"--cordon", transform.CordonAlways}, {"--cordon", transform.CordonNever},
	{"--chart-version", "0.0.9", "--chart-repo", "https://charts.example.com", "--ccm-image-repository", "registry.example.com/ccm", "--ccm-image-tag", "v1.26.5"},
	{"--chart-version", "latest"}, {"--ccm-image-tag", "v1.27.2"},
}

// with returns a command line with more flags.
func with(flags []string, command ...string) []string { return append(command, flags...) }

// unblocking choices let through every stage.
func unblocking() []string {
	flags := []string{"--end-state", transform.EndStateExternal}
	for _, rule := range []string{"cloud-config-lost", "args-overwritten", "value-erased", "flag-unknown", "node-rename"} {
		flags = append(flags, "--accept", rule)
	}
	return flags
}
