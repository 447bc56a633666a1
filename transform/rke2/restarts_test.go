// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Machines with etcd follow one by one, whatever the strategy says.
func TestControlPlanesThatRestartAtOnce(t *testing.T) {
	strategy := func(concurrency string, pools ...string) string {
		text := onAWS + "upgradeStrategy: {controlPlaneConcurrency: " + concurrency + "}\n"
		if len(pools) > 0 {
			text += "machinePools:\n"
		}
		for i, roles := range pools {
			text += fmt.Sprintf("- {name: pool-%d, %s}\n", i, roles)
		}
		return text
	}
	const etcd, alone, together, workers = "etcdRole: true, quantity: 3", "controlPlaneRole: true, quantity: 3", "controlPlaneRole: true, etcdRole: true, quantity: 3", "workerRole: true, quantity: 9"
	at := []string{"warning 9"}
	checkRule(t, "control-planes-at-once", []ruleCase{
		{"nothing is set", "", onAWS, chosen, nil},
		{"nothing is set for control planes", "", onAWS + "upgradeStrategy: {workerConcurrency: '5'}\n", chosen, nil},
		{"one", "", strategy(`"1"`, etcd, alone), chosen, nil},
		{"the usual one", "", strategy(`""`, etcd, alone), chosen, nil},
		{"two", "", strategy(`"2"`, etcd, alone), chosen, at},
		{"all", "", strategy(`"0"`, etcd, alone), chosen, at},
		{"two of one", "", strategy(`"2"`, etcd, "controlPlaneRole: true, quantity: 1"), chosen, nil},
		{"two of a pool that does not say", "", strategy(`"2"`, etcd, "controlPlaneRole: true"), chosen, nil},
		{"two of two pools of one", "", strategy(`"2"`, etcd, "controlPlaneRole: true", "controlPlaneRole: true"), chosen, at},
		{"two with etcd", "", strategy(`"2"`, together, workers), chosen, nil},
		{"all with etcd", "", strategy(`"0"`, together), chosen, nil},
		{"a third of three", "", strategy(`33%`, etcd, alone), chosen, nil},
		{"somewhat more, rounded up", "", strategy(`34%`, etcd, alone), chosen, at},
		{"a percentage counts those with etcd", "", strategy(`25%`, together, alone), chosen, at},
		{"a custom cluster", "", strategy(`"2"`), chosen, at},
		{"a custom cluster, one by one", "", strategy(`10%`), chosen, nil},
		{"no number", "", strategy(`many`, etcd, alone), chosen, nil},
	})
}

// The lease keeps the managers to one owner, so the finding stops no stage.
func TestControlPlanesThatRestartAtOnceAreReportedBeforeTheyDo(t *testing.T) {
	text := onAWS + snapshots + "upgradeStrategy: {controlPlaneConcurrency: '2'}\nmachinePools:\n- {name: etcd, etcdRole: true, quantity: 3}\n- {name: control, controlPlaneRole: true, quantity: 3}\n"
	p := planned(t, release, text, chosen)
	for _, name := range []string{stages.EnableLeaderMigration, stages.SwitchToExternal, stages.InstallCCM} {
		s := step(t, p, name)
		list := about(s.Findings, "control-planes-at-once")
		restarts := name != stages.InstallCCM
		assert.Truef(t, len(list) > 0 == restarts && s.State != plan.Blocked, "%s is %s: %+v", name, s.State, list)
		for _, f := range list {
			assert.Contains(t, f.Message, "up to 2 of the control planes without etcd at once", f)
		}
	}
}
