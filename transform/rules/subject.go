// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules holds the rules that several formats have, by their subject: the ID, the
// severity, the stages that each stops, what it finds and what to do.
//
// Invariant: an ID means the same everywhere. A format says where the values are, and
// passes stages or a description only where its own differ.
package rules

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// What rules stop. An earlier stage does not answer for what a later one puts right.
var (
	EveryEdit    = []string{stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.SwitchToExternal}
	FlagEdits    = []string{stages.EnableLeaderMigration, stages.SwitchToExternal}
	TheSwitch    = []string{stages.SwitchToExternal}
	TheChart     = []string{stages.InstallCCM}
	ChartRuns    = []string{stages.InstallCCM, stages.SwitchToExternal}
	BothManagers = []string{stages.EnableLeaderMigration, stages.InstallCCM, stages.SwitchToExternal}
	ImageMoves   = []string{stages.InstallCCM, stages.DisableLeaderMigration}
	NewRelease   = []string{stages.SwitchToExternal, stages.UpgradeKubernetes}
	FlagLeaves   = []string{stages.SwitchToExternal, stages.DisableLeaderMigration}
	BeforeSwitch = []string{stages.EnableLeaderMigration, stages.InstallCCM}
	OfManagers   = slices.Concat(BeforeSwitch, FlagLeaves)
	OfManifest   = slices.Concat([]string{stages.GrantMigrationLease}, TheChart, FlagLeaves)
)

// BeforeChart reports whether a stage comes before the one that puts the chart right: it does not wait for that.
func BeforeChart(stage string, t transform.Target) bool {
	return stages.IsBefore(stage, stages.InstallCCM, t)
}

// The providers and flags of a migration, as every component spells them.
const (
	inTree     = aws.Name
	external   = "external"
	leaderFlag = ccm.LeaderFlag
	configFlag = "leader-migration-config"
)

// Subject is a cluster as the shared rules see it: its format lists what a rule checks.
type Subject interface {
	Chosen() transform.Target
	Components(rule string) []Component
	Charts(rule string) []Chart
	Bundle() leadermigration.Bundle // the manifests in a string of the file
}

// Rule is a row of the shared rules.
type Rule = transform.Checked[Subject]

// Of returns shared rules for the table of a format. None of them can be corrected without a decision.
func Of[C Subject](shared ...Rule) []transform.Checked[C] {
	return lists.Map(shared, func(r Rule) transform.Checked[C] {
		return transform.Checked[C]{Rule: r.Rule, Check: func(c C, found *transform.Findings) { r.Check(c, found) }}
	})
}

// ofComponents is a rule that checks components one by one. What several machines have in common is found once.
func ofComponents(r transform.Rule, check func(Component, transform.Report)) Rule {
	return Rule{Rule: r, Check: func(s Subject, found *transform.Findings) {
		for _, one := range s.Components(r.ID) {
			check(one, func(at yamledit.Node, message, fix string) *transform.Finding {
				f := one.finding(at, message, fix)
				if slices.Contains(*found, f) {
					return &f
				}
				return found.Add(f)
			})
		}
	}}
}

// ofCharts is a rule that checks the values of charts one by one, and a manager that the manifests run without the chart.
func ofCharts(r transform.Rule, check func(Chart, *transform.Findings), workload ...func(leadermigration.Bundle, transform.Target, *transform.Findings)) Rule {
	return Rule{Rule: r, Check: func(s Subject, found *transform.Findings) {
		for _, one := range s.Charts(r.ID) {
			check(one, found)
		}
		for _, of := range workload {
			of(s.Bundle(), s.Chosen(), found)
		}
	}}
}

// Component is a component of Kubernetes on some machines.
type Component struct {
	Name     string // such as kube-apiserver
	Args     []args.Arg
	Provider string // that it takes, where a rule depends on it
	Version  string // that takes the arguments
	Stage    string // the one after which it is checked; "" for the document as it is
	Target   transform.Target
	// Place makes a finding about a node of the arguments; nil for one of the document.
	Place func(at yamledit.Node, message, fix string) transform.Finding
}

// finding is one about a node of the arguments.
func (c Component) finding(at yamledit.Node, message, fix string) transform.Finding {
	if c.Place == nil {
		return transform.FindingAt(at, message, fix)
	}
	return c.Place(at, message, fix)
}

// Chart is that of the cloud-controller-manager, as a file shows it.
type Chart struct {
	ccm.Chart
	Format, Release string
	External        bool // the provider of the cluster
	Target          transform.Target
	Nodes           func() []ccm.NodeClass // of the control planes
	Label           string                 // which they have
	// At makes a finding about the value at a path.
	At func(message, fix string, path ...string) transform.Finding
}

// chartArgs is where the chart's values have the manager's arguments.
const chartArgs = "args"
