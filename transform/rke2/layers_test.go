// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

func TestSelectorMatches(t *testing.T) {
	const pools = "machinePools:\n- {name: cp, controlPlaneRole: true}\n- {name: etcd, etcdRole: true}\n- {name: w1, workerRole: true, labels: {zone: a}}\n- {name: w2, workerRole: true, labels: {zone: b}}\n"
	all := []string{"cp", "etcd", "w1", "w2"}
	for _, c := range []struct {
		name, entry string
		want        []string
		selective   bool
	}{
		{"no selector", `config: {debug: true}`, all, false},
		{"null", `machineLabelSelector: null`, all, false},
		{"left out after its key", `machineLabelSelector:`, all, false},
		{"empty", `machineLabelSelector: {}`, all, false},
		{"empty fields", `machineLabelSelector: {matchLabels: {}, matchExpressions: []}`, all, false},
		{"one label", `machineLabelSelector: {matchLabels: {rke.cattle.io/worker-role: "true"}}`, []string{"w1", "w2"}, true},
		{"two labels must both be there", `machineLabelSelector: {matchLabels: {rke.cattle.io/worker-role: "true", zone: a}}`, []string{"w1"}, true},
		{"a label without value", `machineLabelSelector: {matchLabels: {zone: }}`, nil, true},
		{"In", `machineLabelSelector: {matchExpressions: [{key: zone, operator: In, values: [a, c]}]}`, []string{"w1"}, true},
		{"NotIn matches where the label is absent", `machineLabelSelector: {matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}`, []string{"cp", "etcd", "w2"}, true},
		{"Exists ignores the value", `machineLabelSelector: {matchExpressions: [{key: zone, operator: Exists}]}`, []string{"w1", "w2"}, true},
		{"DoesNotExist", `machineLabelSelector: {matchExpressions: [{key: zone, operator: DoesNotExist}]}`, []string{"cp", "etcd"}, true},
		{"expressions are joined by and", `machineLabelSelector: {matchExpressions: [{key: zone, operator: Exists}, {key: zone, operator: NotIn, values: [b]}]}`, []string{"w1"}, true},
		{"labels and expressions are joined by and", `machineLabelSelector: {matchLabels: {zone: a}, matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}`, nil, true},
		{"the pool's name", `machineLabelSelector: {matchLabels: {rke.cattle.io/rke-machine-pool-name: etcd}}`, []string{"etcd"}, true},
		{"the misspelling machineLabelSelectors widens", `machineLabelSelectors: {matchLabels: {zone: a}}`, all, false},
		{"the misspelling labelSelector widens", `labelSelector: {matchLabels: {zone: a}}`, all, false},
		{"another case widens", `machinelabelselector: {matchLabels: {zone: a}}`, all, false},
		{"the misspelling matchExpression widens", `machineLabelSelector: {matchExpression: [{key: zone, operator: Exists}]}`, all, false},
		{"the misspelling matchLabel leaves the rest", `machineLabelSelector: {matchLabel: {zone: a}, matchLabels: {zone: b}}`, []string{"w2"}, true},
		{"another case inside widens", `machineLabelSelector: {matchlabels: {zone: a}}`, all, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := opened(t, release, pools+"machineSelectorConfig:\n- "+c.entry)
			layer := cluster.Layers[1]
			got := lists.Map(lists.Where(cluster.Classes, func(class effective.Class) bool { return layer.Matches(class) }), func(class effective.Class) string { return class.Name })
			assert.Truef(t, slices.Equal(got, c.want) && layer.Selective() == c.selective, "matches %v, want %v; selective: %v, want %v", got, c.want, layer.Selective(), c.selective)
		})
	}
}

func TestInvalidSelectorsAreRefused(t *testing.T) {
	for _, c := range []struct{ what, selector, part string }{
		{"an unknown operator", `{matchExpressions: [{key: a, operator: Equals, values: [b]}]}`, ".matchExpressions[0]"},
		{"another spelling of an operator", `{matchExpressions: [{key: a, operator: in, values: [b]}]}`, ".matchExpressions[0]"},
		{"no operator", `{matchExpressions: [{key: a}]}`, ".matchExpressions[0]"},
		{"In without values", `{matchExpressions: [{key: b, operator: Exists}, {key: a, operator: In}]}`, ".matchExpressions[1]"},
		{"NotIn with an empty list", `{matchExpressions: [{key: a, operator: NotIn, values: []}]}`, ".matchExpressions[0]"},
		{"Exists with values", `{matchExpressions: [{key: a, operator: Exists, values: [b]}]}`, ".matchExpressions[0]"},
		{"DoesNotExist with values", `{matchExpressions: [{key: a, operator: DoesNotExist, values: [b]}]}`, ".matchExpressions[0]"},
		{"a key that is no label", `{matchLabels: {c: d, "a b": c}}`, ".matchLabels"},
		{"a value that is no label value", `{matchLabels: {a: "b c"}}`, ".matchLabels.a"},
	} {
		want := "c.yaml:9: spec.rkeConfig.machineSelectorConfig[1].machineLabelSelector" + c.part + ": the selector is invalid, and Rancher refuses the whole cluster; use In and NotIn with values, Exists and DoesNotExist without, and well-formed labels"
		refuse(t, document(release, "machineSelectorConfig:\n- config: {}\n- machineLabelSelector: "+c.selector), want)
	}
}

func TestLayersAreGlobalFirstThenTheEntries(t *testing.T) {
	c := opened(t, release, "machineSelectorConfig:\n- config: {debug: true}\n- config:\nmachineGlobalConfig: {debug: false}\n")
	assert.Mustf(t, len(c.Layers) == 3, "%d layers", len(c.Layers))
	type layer struct {
		Global      bool
		Entry, Path string
	}
	got := lists.Map(c.Layers, func(l effective.Layer) layer { return layer{l.Global(), l.Entry.Path(), l.Get("debug").Path()} })
	want := []layer{
		{true, "", "spec.rkeConfig.machineGlobalConfig.debug"},
		{false, "spec.rkeConfig.machineSelectorConfig[0]", "spec.rkeConfig.machineSelectorConfig[0].config.debug"},
		{false, "spec.rkeConfig.machineSelectorConfig[1]", ""},
	}
	assert.DeepEqual(t, got, want)
}

func TestClustersWithoutConfigurationHaveAGlobalLayer(t *testing.T) {
	for _, config := range []string{"", "machineGlobalConfig: null", "machineSelectorConfig: null", "machineSelectorConfig: []"} {
		c := opened(t, "v1.26.15+rke2r1", config)
		assert.Truef(t, len(c.Layers) == 1 && c.Layers[0].Global() && !c.Layers[0].Selective() && !c.Layers[0].Get("cni").Exists(), "%q: %+v", config, c.Layers)
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

// tooManyLabels is a configuration that gives machines more combinations of labels than
// are looked at.
func tooManyLabels() string {
	var labels []string
	for i := range 11 {
		labels = append(labels, fmt.Sprintf("{matchLabels: {l%d: x}}", i))
	}
	return document("v1.26.15+rke2r1", selecting(labels...))
}

func TestSelectorsWithTooManyLabelsAreRefused(t *testing.T) {
	_, err := Open(parse(t, tooManyLabels()), transform.Target{})
	assert.ErrorContains(t, err, "let the selectors match roles, or fewer labels")
}

func TestTheMachinesOfALiveClusterShowItsClasses(t *testing.T) {
	doc := parse(t, tooManyLabels())
	live := Format().Live
	assert.True(t, live.ByMachines(doc) && !live.ByMachines(parse(t, document("v1.26.15+rke2r1", selecting("{matchLabels: {size: big}}")))), "not exactly the cluster with too many labels needs its machines")
	for want, machines := range map[string]transform.Machines{
		"worker":                           {},
		"worker, worker l3=x":              {{effective.LabelWorker: "true", "l3": "x", "rack": "b7"}, {effective.LabelEtcd: "true", "l3": "x"}},
		"worker, worker l2=x l7=x":         {{"l2": "x", "l7": "x"}, {"l4": "other"}},
		"worker, worker l0=x, worker l1=x": {{"l0": "x"}, {"l1": "x"}},
	} {
		c := assert.Value(Open(doc, transform.Target{Machines: &machines}))(t)
		workers := slices.DeleteFunc(names(c), func(name string) bool { return !strings.HasPrefix(name, "worker") })
		assert.Equal(t, strings.Join(workers, ", "), want, machines)
	}
}
