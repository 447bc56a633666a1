// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// ruleTable is the one table of the static rules of manifests, by their names.
var ruleTable = sync.OnceValue(func() []rule {
	refusals := []rule{ // made before there is a cluster to check
		{Rule: rules.ChangedByOverlay}, {Rule: transform.Encrypted}, {Rule: transform.Templated},
		{Rule: rules.DuplicateCluster.WithDoc(
			"Refused, with exit code 1: two folders of one kustomization or bundle of Fleet have an object with the same namespace and name. In one folder the rule is not-migratable.")},
	}
	return transform.Table(refusals, sharedRules(), argumentRules(), workloadRules())
})

type rule = transform.Checked[*migration]

// inOtherManifest is a rule about what another manifest may hold.
func inOtherManifest(r transform.Rule) transform.Rule {
	r.OtherDocument = true
	return r
}

// sharedRules are those that check the same in every format.
func sharedRules() []rule {
	grant := rules.LeaseGrantMissing.WithGuards()
	grant.Rule = inOtherManifest(grant.Rule)
	return rules.Of[*migration](
		rules.CSIGateStale, rules.CloudControllersOff, rules.FlagLeftOnKCM, rules.LeaderElectionOff,
		rules.LeaseTimingsUnsafe, grant,
		rules.FlagOnExternalGate.WithGuards(rules.BothManagers...),
		rules.FlagUnknown.WithGuards(rules.BothManagers...),
	)
}

// Findings implements transform.Cluster.
func (m *migration) Findings(stage string) []transform.Finding {
	checked := *m
	checked.stage = stage
	return transform.FindingsOf(ruleTable(), &checked, stage, m.target.Accept)
}
