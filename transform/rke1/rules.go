// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// rule is a row of the table.
type rule = transform.Checked[*migration]

// ruleMetadataUnset is also a choice: accepting it leaves the names to the operator.
const ruleMetadataUnset = "metadata-hostname-unset"

// ruleTable is the one table of RKE's static rules, by their names.
var ruleTable = sync.OnceValue(func() []rule {
	refusals := []rule{ // made before there is a cluster to check
		{Rule: rules.DuplicateCluster}, {Rule: transform.Encrypted}, {Rule: transform.Templated},
	}
	return transform.Table(refusals, sharedRules(), clusterRules(), argumentRules())
})

// sharedRules are those that check the same in every format.
func sharedRules() []rule {
	return rules.Of[*migration](
		rules.CCMUnschedulable, rules.CSIGateStale, rules.CloudControllersOff, rules.FlagLeftOnKCM,
		rules.FlagOnExternalGate, rules.FlagUnknown, rules.LeaseGrantMissing, rules.LeaseTimingsUnsafe,
		rules.LeaderElectionOff.WithGuards(rules.FlagEdits...),
		rules.CCMMinorSkew.WithGuards(rules.ImageMoves...).WithDoc(
			"The minor of the image in the values file is not the cluster's. From 1.28 on the image also needs a LeaderMigrationConfiguration of its own, or services and routes run in both managers."),
		rules.ChartUnpinned.WithDoc(
			"The values file names no image tag, so that a new version of the chart changes the cluster."),
		rules.ConfigWithoutFlag.WithGuards(rules.FlagEdits...).WithDoc(
			"kube-controller-manager has leader-migration-config without enable-leader-migration, and silently ignores the configuration."),
	)
}

// Findings implements transform.Cluster.
func (m *migration) Findings(stage string) []transform.Finding {
	checked := *m
	checked.stage = stage
	return transform.FindingsOf(ruleTable(), &checked, stage, m.target.Accept)
}

// Fixes implements transform.Fixer.
func (m *migration) Fixes() []transform.Fix { return transform.FixesOf(ruleTable(), m) }
