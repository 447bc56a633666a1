// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

// given returns what a machine with some labels is given.
func given(t *testing.T, text string, labels map[string]string) map[string]any {
	t.Helper()
	config := assert.Value(rke2.Format().Live.Machines(parse(t, text), transform.Target{}))(t)
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
	const pool = "rke.cattle.io/rke-machine-pool-name"
	server := func(own ...string) map[string]string {
		labels := map[string]string{pool: "servers", effective.LabelControlPlane: "true", effective.LabelEtcd: "true", effective.LabelOS: "linux"}
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
		{"a pool that the file does not have", server(pool, "new"), map[string]any{"cloud-provider-name": "aws", "kube-controller-manager-arg": []any{"v=5"}}},
		{"the name of another pool", server(pool, "workers"), map[string]any{"cloud-provider-name": "aws", "kubelet-arg": []any{"v=6"}, "kube-controller-manager-arg": []any{"v=5"}}},
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
	_, err := rke2.Open(parse(t, text), transform.Target{})
	assert.Must(t, err != nil, "a file with so many labels is opened")
	got := given(t, text, map[string]string{effective.LabelWorker: "true", "label-3": "yes"})
	assert.DeepEqual(t, got, map[string]any{"cloud-provider-name": "aws", "kubelet-arg": []any{"v=3"}})
}

func TestClustersWithoutPoolsHaveEveryCombinationOfRoles(t *testing.T) {
	for _, pools := range []string{"", "machinePools:", "machinePools: null", "machinePools: []"} {
		c := opened(t, release, pools)
		want := []string{
			"controlplane", "controlplane+worker",
			"etcd", "etcd+controlplane", "etcd+controlplane+worker", "etcd+worker",
			"worker",
		}
		assert.DeepEqual(t, names(c), want, pools)
		for _, class := range c.Classes {
			is := func(role string) bool { return strings.Contains(class.Name, role) }
			assert.Truef(t, class.Etcd() == is("etcd") && class.ControlPlane() == is("controlplane") && class.Worker() == is("worker"), "%s has the labels %v", class.Name, class.Labels)
			assert.Truef(t, class.Labels[effective.LabelOS] == "linux" && !class.Pool.Exists(), "%s: %+v", class.Name, class)
		}
	}
}

// selecting is a cluster without pools whose entries have these selectors.
func selecting(selectors ...string) string {
	text := "machineSelectorConfig:\n"
	for i, s := range selectors {
		text += fmt.Sprintf("- config: {kubelet-arg: [v=%d]}\n  machineLabelSelector: %s\n", i, s)
	}
	return text
}

func TestLabelsOfSelectorsMakeClasses(t *testing.T) {
	const server = `matchLabels: {rke.cattle.io/control-plane-role: "true"}`
	for _, c := range []struct {
		name      string
		selectors []string
		want      []string // of the control planes that are nothing else
	}{
		{"a value", []string{`{matchLabels: {size: big}}`}, []string{"controlplane", "controlplane size=big"}},
		{"two values", []string{`{matchLabels: {size: big}}`, `{matchLabels: {size: small}}`}, []string{"controlplane", "controlplane size=big", "controlplane size=small"}},
		{"values that are for the same", []string{`{matchExpressions: [{key: size, operator: In, values: [big, huge]}]}`}, []string{"controlplane", "controlplane size=big"}},
		{"a label that is not to be there", []string{`{matchExpressions: [{key: size, operator: DoesNotExist}]}`}, []string{"controlplane", "controlplane size=another"}},
		{"a value that it is not to have", []string{`{matchExpressions: [{key: size, operator: NotIn, values: [big]}]}`}, []string{"controlplane", "controlplane size=big"}},
		{"two labels", []string{`{matchLabels: {size: big}}`, `{matchLabels: {zone: a}}`}, []string{"controlplane", "controlplane size=big", "controlplane zone=a", "controlplane size=big zone=a"}},
		{"two labels of one selector", []string{`{matchLabels: {size: big, zone: a}}`}, []string{"controlplane", "controlplane size=big zone=a"}},
		{"a label of workers", []string{`{matchLabels: {size: big, rke.cattle.io/worker-role: "true"}}`}, []string{"controlplane"}},
		{"Rancher's own labels", []string{`{` + server + `}`, `{matchLabels: {rke.cattle.io/cluster-name: demo, cattle.io/os: windows}}`}, []string{"controlplane"}},
	} {
		got := names(opened(t, release, selecting(c.selectors...)))
		got = slices.DeleteFunc(got, func(name string) bool {
			roles, _, _ := strings.Cut(name, " ")
			return roles != "controlplane"
		})
		assert.DeepEqual(t, got, c.want, c.name)
	}
}

func TestSelectorsOfFilesMakeClassesToo(t *testing.T) {
	c := opened(t, release, "machineSelectorFiles:\n- machineLabelSelector: {matchLabels: {size: big}}\n")
	got := names(c)
	assert.True(t, slices.Contains(got, "worker size=big"), got)
}
