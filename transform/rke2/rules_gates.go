// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/gates"
)

// gateKeys are the arguments of the components that read feature gates.
var gateKeys = []string{kubeletArgs, "kube-proxy-arg", apiServerArgs, managerArgs, "kube-scheduler-arg"}

// csiGateStale judges the gate of the volumes.
func (m *migration) csiGateStale() []transform.Finding {
	stale := m.eachGate(gates.CSI, gates.StaleCSI(m.move().Reached()))
	if m.stage != "" {
		return stale // a note about an upgrade to come stops no stage
	}
	return append(stale, gates.Noted(m.eachGate(gates.CSI, gates.EndingCSI(m.move().Reached())))...)
}

// migrationGateStale judges the gate of leader migration itself, of both managers.
func (m *migration) migrationGateStale() []transform.Finding {
	inChart := m.eachJudged("flag-on-external-gate", func(c installed) []transform.Finding {
		version := c.chart.ImageTag() // the manager that reads these gates
		if !semver.IsValid(version) {
			version = m.move().Reached()
		}
		return gates.Find(c.chart.Placed(), gates.LeaderMigration, gates.StaleMigration(version), c.inArgs)
	})
	return append(m.eachGate(gates.LeaderMigration, gates.StaleMigration(m.move().Reached())), inChart...)
}

// eachGate calls judge for every argument that sets a gate on any machine.
func (m *migration) eachGate(gate string, judge gates.Judge) []transform.Finding {
	var found []transform.Finding
	for _, key := range gateKeys {
		runs := func(c Class) bool { return key == "kube-proxy-arg" || m.needs(c, key) }
		for _, at := range m.winners(key, runs) {
			found = append(found, gates.Find(args.Place(at), gate, judge, transform.FindingAt)...)
		}
	}
	return found
}
