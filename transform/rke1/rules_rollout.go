// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"math"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ruleset"
)

// The upgrade strategy, as a cluster.yml spells it.
const (
	strategyKey    = "upgrade_strategy"
	unavailableKey = "max_unavailable_controlplane"
)

// controlPlanesAtOnce counts as RKE does (services/node_util.go, CalculateMaxUnavailable): a
// percentage is rounded down, and is one machine at the least. Control planes with
// etcd count as well.
func (m *migration) controlPlanesAtOnce() []transform.Finding {
	at := m.get(strategyKey, unavailableKey)
	all := 0
	for _, n := range m.Read.Nodes {
		if slices.Contains(n.Role, "controlplane") {
			all++
		}
	}
	if all == 0 { // an object of Rancher names none
		all = ruleset.MostControlPlanes
	}
	number, ok := ruleset.Concurrency(at.Value(), all, math.Floor)
	most := min(number, all)
	if !at.Exists() || !ok || most < 2 {
		return nil
	}
	said := ruleset.SaidOfAtOnce("RKE", most, all, "control planes", m.spelling.of(strategyKey)+"."+m.spelling.of(unavailableKey))
	return m.one(at, said.Message, said.Fix)
}
