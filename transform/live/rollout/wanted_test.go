// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	wantedPools  = "    machinePools:\n    - {name: servers, controlPlaneRole: true, etcdRole: true}\n"
	wantedObject = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"mill","namespace":"fleet-default"},"spec":{}}`
	wantedText   = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: mill, namespace: fleet-default}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig: {cloud-provider-name: external}
    machineSelectorConfig:
    - config: {kubelet-arg: [v=4]}
      machineLabelSelector: {matchExpressions: [{key: rack, operator: Exists}]}
    - config: {cloud-provider-name: aws}
      machineLabelSelector: {matchExpressions: [{key: cattle.io/os, operator: NotIn, values: [linux]}]}
`
)

// Rancher's planner looks at the labels of the Machine, regardless of who set them, and knows no
// classes.
func TestAMachineWithLabelsThatNoPoolHasIsEvaluatedByThem(t *testing.T) {
	roles := func(own ...string) map[string]string {
		labels := map[string]string{"rke.cattle.io/rke-machine-pool-name": "servers", "rke.cattle.io/control-plane-role": "true", "rke.cattle.io/etcd-role": "true", "cattle.io/os": "linux"}
		for i := 0; i < len(own); i += 2 {
			labels[own[i]] = own[i+1]
		}
		return labels
	}
	for _, c := range []struct {
		name   string
		labels map[string]string
		config map[string]any // that the plan has
		lacks  string         // of it; "" for nothing
	}{
		{"those of its pool", roles(), map[string]any{"cloud-provider-name": "external"}, ""},
		{"of a pool that is gone", roles("rke.cattle.io/rke-machine-pool-name", "before"), map[string]any{"cloud-provider-name": "external"}, ""},
		{"of a pool that is gone, before the change", roles("rke.cattle.io/rke-machine-pool-name", "before"), map[string]any{"cloud-provider-name": "aws"}, "cloud-provider-name"},
		{"one that someone added", roles("rack", "b7"), map[string]any{"cloud-provider-name": "external", "kubelet-arg": []any{"v=4"}}, ""},
		{"one that someone added, before the planner saw it", roles("rack", "b7"), map[string]any{"cloud-provider-name": "external"}, "kubelet-arg v"},
		{"another system", roles("cattle.io/os", "windows"), map[string]any{"cloud-provider-name": "aws"}, ""},
		{"another system, after a change for others", roles("cattle.io/os", "windows"), map[string]any{"cloud-provider-name": "external"}, "cloud-provider-name"},
		{"none", nil, map[string]any{"cloud-provider-name": "aws"}, ""},
	} {
		for kind, text := range map[string]string{"pools": wantedText + wantedPools, "custom": wantedText} {
			doc := assert.Value(yamledit.ParseString("mill", text))(t)
			wanted := assert.Value(NewWanted(rke2.Format(), doc, []byte(wantedObject), transform.Target{}))(t)
			m := Machine{Name: "m", Node: "n", Labels: c.labels, Plan: &Plan{Applied: true, Config: c.config}}
			got := m.waiting(wanted)
			assert.Truef(t, (c.lacks != "" || got == "") && strings.HasSuffix(got, c.lacks), "%s, %s: %q", c.name, kind, got)
		}
	}
}
