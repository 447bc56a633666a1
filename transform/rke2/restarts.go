// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"math"
	"strconv"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// Restarts compares what machines get. A change of additionalManifest restarts nothing.
func (m *migration) Restarts(after transform.Cluster) []transform.Restart {
	return m.Machines.Restarts(&after.(*migration).Machines, m.atOnce("controlPlaneConcurrency"), m.atOnce("workerConcurrency"))
}

// atOnce reads how many machines of a tier Rancher takes at a time.
func (m *migration) atOnce(key string) string {
	switch text := fmt.Sprint(m.RKEConfig().Get("upgradeStrategy", key).Value()); text {
	case "0":
		return "all at once"
	case "1", "", "<nil>":
		return "one at a time"
	default:
		return text + " at a time"
	}
}

// controlPlanesAtOnce counts as Rancher's planner does (rancher pkg/capr/planner,
// fullReconcile and calculateConcurrency): machines with etcd follow one by one, then
// the other control planes by controlPlaneConcurrency, of which 0 means all.
func (m *migration) controlPlanesAtOnce(found *transform.Findings) {
	at := m.RKEConfig().Get("upgradeStrategy", "controlPlaneConcurrency")
	all, alone := m.controlPlanes()
	number, ok := rules.Concurrency(at.Value(), all, math.Ceil)
	most := min(number, alone)
	if number == 0 {
		most = alone
	}
	if at.Exists() && ok {
		rules.AtOnce(at, rules.Restart{By: "Rancher", Most: most, All: alone, Of: "control planes without etcd", Key: "upgradeStrategy.controlPlaneConcurrency"}, found)
	}
}

// controlPlanes counts the control planes, and those of them without etcd. A cluster
// without pools does not show it.
func (m *migration) controlPlanes() (all, alone int) {
	for _, c := range m.Classes {
		if !c.ControlPlane() {
			continue
		}
		if !c.Pool.Exists() {
			return rules.MostControlPlanes, rules.MostControlPlanes
		}
		n := 1 // of a pool that does not say
		if q, err := strconv.Atoi(fmt.Sprint(c.Pool.Get("quantity").Value())); err == nil {
			n = q
		}
		all += n
		if !c.Etcd() {
			alone += n
		}
	}
	return all, alone
}
