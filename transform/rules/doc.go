// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules holds the rules that several distros have, one file each: the ID, the
// severity, the stages that it stops, what it finds and what to do.
//
// Invariant: an ID means the same everywhere. A distro says where the values are, and
// passes stages or a description only where its own differ.
package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
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
	newRelease   = []string{stages.SwitchToExternal, stages.UpgradeKubernetes}
)

// The providers and flags of a migration, as every component spells them.
const (
	inTree     = "aws"
	external   = "external"
	leaderFlag = ccm.LeaderFlag
	configFlag = "leader-migration-config"
)

// one is a finding, as a list.
func one(at yamledit.Node, message, fix string) []transform.Finding {
	return []transform.Finding{transform.FindingAt(at, message, fix)}
}

// as gives findings another severity than their rule has.
func as(severity transform.Severity, found []transform.Finding) []transform.Finding {
	for i := range found {
		found[i].Severity = severity
	}
	return found
}
