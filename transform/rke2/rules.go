// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// rule is a row of the table.
type rule = transform.Checked[*migration]

// ruleTable is the one table of RKE2's static rules, by their names.
var ruleTable = sync.OnceValue(func() []rule {
	refusals := []rule{ // made before there is a cluster to check
		{Rule: rules.ChangedByOverlay}, {Rule: rules.DuplicateCluster}, {Rule: transform.Encrypted}, {Rule: transform.Templated},
	}
	return transform.Table(refusals, sharedRules(), clusterRules(), chartRules(), layerRules(), argumentRules(), configurationObjectRules(), configurationTextRules())
})

// sharedRules are those that check the same in every format.
func sharedRules() []rule {
	return rules.Of[*migration](
		rules.CCMUnschedulable, rules.CSIGateStale, rules.CloudControllersOff, rules.FlagOnExternalGate,
		rules.FlagUnknown, rules.LeaderElectionOff, rules.LeaseGrantMissing, rules.LeaseTimingsUnsafe, rules.StorageClassInTree,
		rules.FlagLeftOnKCM.WithGuards(rules.FlagLeaves...),
		rules.ConfigWithoutFlag.WithDoc(
			"A manager has leader-migration-config without enable-leader-migration, and silently ignores the configuration."),
		rules.CCMArgsUnsafe.WithDoc(
			"With its arguments the cloud-controller-manager exits when it acquires the lease: routes are on without --cluster-cidr, --cloud-provider=aws is missing from the list, or service account credentials are used without permission to get service accounts."),
		rules.CCMMinorSkew.WithGuards(rules.ImageMoves...).WithDoc(
			"The minor of the cloud-controller-manager's image is not the cluster's. From 1.28 on the image also needs a LeaderMigrationConfiguration of its own, or services and routes run in both managers."),
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
