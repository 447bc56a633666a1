// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"math"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// The upgrade strategy, as a cluster.yml spells it.
const (
	strategyKey    = "upgrade_strategy"
	unavailableKey = "max_unavailable_controlplane"
)

// controlPlanesAtOnce counts as RKE does (services/node_util.go, CalculateMaxUnavailable): a
// percentage is rounded down, and is one machine at the least. Control planes with
// etcd count as well.
func (m *migration) controlPlanesAtOnce(found *transform.Findings) {
	at := m.get(strategyKey, unavailableKey)
	all := 0
	for _, n := range m.Read.Nodes {
		if slices.Contains(n.Role, "controlplane") {
			all++
		}
	}
	if all == 0 { // an object of Rancher names none
		all = rules.MostControlPlanes
	}
	number, ok := rules.Concurrency(at.Value(), all, math.Floor)
	if at.Exists() && ok {
		key := m.spelling.of(strategyKey) + "." + m.spelling.of(unavailableKey)
		rules.AtOnce(at, rules.Restart{By: "RKE", Most: min(number, all), All: all, Of: "control planes", Key: key}, found)
	}
}
