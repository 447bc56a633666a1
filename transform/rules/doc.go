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
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
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
