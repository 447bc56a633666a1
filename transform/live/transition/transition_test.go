// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const orderText = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: orchard, namespace: fleet-default}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig: {cloud-provider-name: aws}
    machinePools:
      - {name: servers, controlPlaneRole: true, etcdRole: true, quantity: 3}
      - {name: workers, workerRole: true, quantity: 2}
`

func TestAStageChangesTheMachinesWhoseConfigurationItChanges(t *testing.T) {
	server := map[string]string{"rke.cattle.io/rke-machine-pool-name": "servers", "rke.cattle.io/control-plane-role": "true", "rke.cattle.io/etcd-role": "true"}
	worker := map[string]string{"rke.cattle.io/rke-machine-pool-name": "workers", "rke.cattle.io/worker-role": "true"}
	doc := assert.Value(yamledit.ParseString("orchard", orderText))(t)
	for _, c := range []struct {
		name, stage      string
		target           transform.Target
		servers, workers bool
	}{
		{"a manifest", stages.GrantMigrationLease, transform.Target{}, false, false},
		{"an argument of control planes", stages.EnableLeaderMigration, transform.Target{}, true, false},
		{"the chart", stages.InstallCCM, transform.Target{}, false, false},
		{"the provider", stages.SwitchToExternal, transform.Target{EndState: transform.EndStateExternal}, true, true},
		{"no edit at all", stages.CordonControlPlane, transform.Target{}, false, false},
	} {
		w := Planner{Format: rke2.Format(), Target: c.target}
		p := assert.Value(plan.Build(w.Format, transform.Only(doc), c.target))(t)
		step, _ := p.Step(c.stage)
		changes := assert.Value(w.Changes(Transition{Step: step}))(t)
		assert.Truef(t, changes(server) == c.servers && changes(worker) == c.workers, "%s: servers %t, workers %t", c.name, changes(server), changes(worker))
	}
}

// A new release restarts every machine, also one whose arguments stay.
func TestANewReleaseChangesAllMachines(t *testing.T) {
	before := assert.Value(yamledit.ParseString("orchard", orderText))(t)
	e := before.Edit()
	e.Set(before.Root().Get("spec", "kubernetesVersion"), "v1.27.16+rke2r2")
	after, _, err := e.Apply()
	assert.NilError(t, err)
	changes, err := Planner{Format: rke2.Format()}.Changes(Transition{Step: plan.Step{Documents: []plan.Revision{{Before: before, After: after}}}})
	assert.True(t, err == nil && changes != nil && changes(map[string]string{}), err)
}

func TestANodeUnderAnotherNameAndANewOneArePermanent(t *testing.T) {
	assert.True(t, !Permanent([]transform.Finding{{Rule: "node-renamed", Severity: transform.Error, Accepted: true}, {Rule: "x", Severity: transform.Error}}), "what is accepted stops nothing")
	for _, rule := range []string{"node-renamed", "node-new"} {
		assert.Truef(t, Permanent([]transform.Finding{{Rule: rule, Severity: transform.Error}}), "%s does not pass", rule)
	}
}

func TestWhereARunStoppedIsReportedWithWhatBecameOfTheEdit(t *testing.T) {
	for _, name := range append([]string{""}, stages.Names()...) {
		texts := map[string]bool{}
		for _, e := range []Edit{NotWritten, MayBeWritten, Written} {
			texts[Between(transform.Target{}, name, "next", e)] = true
		}
		assert.Truef(t, Between(transform.Target{}, name, "next", NotWritten) == stages.LeaderAfter(name, transform.Target{}) && len(texts) == 3, "%q: %v", name, texts)
	}
}
