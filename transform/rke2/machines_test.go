// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// given returns what a machine with some labels is given.
func given(t *testing.T, text string, labels map[string]string) map[string]any {
	t.Helper()
	config := assert.Value(Distro().Live.Machines(parse(t, text), transform.Target{}))(t)
	return config(labels)
}

// Anyone may label a Machine, and Rancher's planner looks at nothing else.
func TestAMachineIsGivenWhatItsOwnLabelsAskFor(t *testing.T) {
	const pools = "machinePools:\n- {name: servers, controlPlaneRole: true, etcdRole: true}\n- {name: workers, workerRole: true}\n"
	const layers = `machineGlobalConfig: {cloud-provider-name: aws}
machineSelectorConfig:
- config: {kubelet-arg: [v=4]}
  machineLabelSelector: {matchExpressions: [{key: rack, operator: Exists}]}
- config: {kube-controller-manager-arg: [v=5]}
  machineLabelSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [edge]}]}
- config: {kubelet-arg: [v=6]}
  machineLabelSelector: {matchLabels: {rke.cattle.io/rke-machine-pool-name: workers}}
`
	server := func(own ...string) map[string]string {
		labels := map[string]string{labelPool: "servers", LabelControlPlane: "true", LabelEtcd: "true", LabelOS: "linux"}
		for i := 0; i < len(own); i += 2 {
			labels[own[i]] = own[i+1]
		}
		return labels
	}
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   map[string]any
	}{
		{"as its pool has it", server(), map[string]any{"cloud-provider-name": "aws", "kube-controller-manager-arg": []any{"v=5"}}},
		{"a label that someone added", server("rack", "b7"), map[string]any{"cloud-provider-name": "aws", "kubelet-arg": []any{"v=4"}, "kube-controller-manager-arg": []any{"v=5"}}},
		{"one that NotIn leaves out", server("tier", "edge"), map[string]any{"cloud-provider-name": "aws"}},
		{"a pool that the file does not have", server(labelPool, "new"), map[string]any{"cloud-provider-name": "aws", "kube-controller-manager-arg": []any{"v=5"}}},
		{"the name of another pool", server(labelPool, "workers"), map[string]any{"cloud-provider-name": "aws", "kubelet-arg": []any{"v=6"}, "kube-controller-manager-arg": []any{"v=5"}}},
		{"no role at all", map[string]string{"rack": "b7"}, map[string]any{"cloud-provider-name": "aws", "kubelet-arg": []any{"v=4"}}},
	} {
		for kind, text := range map[string]string{"pools": pools + layers, "custom": layers} {
			assert.DeepEqual(t, given(t, document(release, text), c.labels), c.want, c.name, kind)
		}
	}
}

// Only a file without machines has to think of all labels that they may have.
func TestAMachineIsKnownHoweverManyLabelsSelectorsName(t *testing.T) {
	text := "machineGlobalConfig: {cloud-provider-name: aws}\nmachineSelectorConfig:\n"
	for i := range 12 {
		text += fmt.Sprintf("- config: {kubelet-arg: [v=%d]}\n  machineLabelSelector: {matchLabels: {label-%d: 'yes'}}\n", i, i)
	}
	text = document(release, text)
	_, err := Open(parse(t, text), "")
	assert.Must(t, err != nil, "a file with so many labels is opened")
	got := given(t, text, map[string]string{LabelWorker: "true", "label-3": "yes"})
	assert.DeepEqual(t, got, map[string]any{"cloud-provider-name": "aws", "kubelet-arg": []any{"v=3"}})
}
