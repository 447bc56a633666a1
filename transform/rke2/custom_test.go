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
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestClustersWithoutPoolsHaveEveryCombinationOfRoles(t *testing.T) {
	for _, pools := range []string{"", "machinePools:", "machinePools: null", "machinePools: []"} {
		c := opened(t, "v1.26.15+rke2r1", pools)
		want := []string{
			"controlplane", "controlplane+worker",
			"etcd", "etcd+controlplane", "etcd+controlplane+worker", "etcd+worker",
			"worker",
		}
		assert.DeepEqual(t, names(c), want, pools)
		for _, class := range c.Classes {
			is := func(role string) bool { return strings.Contains(class.Name, role) }
			assert.Truef(t, class.Etcd() == is("etcd") && class.ControlPlane() == is("controlplane") && class.Worker() == is("worker"), "%s has the labels %v", class.Name, class.Labels)
			assert.Truef(t, class.Labels[LabelOS] == "linux" && !class.Pool.Exists(), "%s: %+v", class.Name, class)
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
		t.Run(c.name, func(t *testing.T) {
			got := names(opened(t, "v1.26.15+rke2r1", selecting(c.selectors...)))
			got = slices.DeleteFunc(got, func(name string) bool {
				roles, _, _ := strings.Cut(name, " ")
				return roles != "controlplane"
			})
			assert.DeepEqual(t, got, c.want)
		})
	}
}

func TestSelectorsOfFilesMakeClassesToo(t *testing.T) {
	c := opened(t, "v1.26.15+rke2r1", "machineSelectorFiles:\n- machineLabelSelector: {matchLabels: {size: big}}\n")
	got := names(c)
	assert.True(t, slices.Contains(got, "worker size=big"), got)
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
	_, err := Open(parse(t, tooManyLabels()), "")
	assert.ErrorContains(t, err, "let the selectors match roles, or fewer labels")
}

func TestTheMachinesOfALiveClusterShowItsClasses(t *testing.T) {
	doc := parse(t, tooManyLabels())
	live := Distro().Live
	assert.True(t, live.ByMachines(doc) && !live.ByMachines(parse(t, document("v1.26.15+rke2r1", selecting("{matchLabels: {size: big}}")))), "not exactly the cluster with too many labels needs its machines")
	for want, machines := range map[string]transform.Machines{
		"worker":                           {},
		"worker, worker l3=x":              {{LabelWorker: "true", "l3": "x", "rack": "b7"}, {LabelEtcd: "true", "l3": "x"}},
		"worker, worker l2=x l7=x":         {{"l2": "x", "l7": "x"}, {"l4": "other"}},
		"worker, worker l0=x, worker l1=x": {{"l0": "x"}, {"l1": "x"}},
	} {
		c := assert.Value(optionsOf(transform.Target{Machines: &machines}).open(doc))(t)
		workers := slices.DeleteFunc(names(c), func(name string) bool { return !strings.HasPrefix(name, "worker") })
		assert.Equal(t, strings.Join(workers, ", "), want, machines)
	}
}

// A list that is for machines with a label of their own replaces the others there,
// so the flag has to be in it as well.
func TestTheFlagReachesControlPlanesWithALabelOfTheirOwn(t *testing.T) {
	text := document("v1.26.15+rke2r1", `machineGlobalConfig:
  cloud-provider-name: aws
  kube-controller-manager-arg: [v=2]
machineSelectorConfig:
- config: {}
- config:
    kube-controller-manager-arg: [v=4]
  machineLabelSelector: {matchLabels: {size: big}}
`)
	plan := assert.Value(plan.Build(Distro(), transform.Only(parse(t, text)), transform.Target{}))(t)
	for _, step := range plan.Steps {
		if step.Stage.Name != stages.EnableLeaderMigration {
			continue
		}
		after := string(step.After()[0].Bytes())
		for _, list := range []string{"[v=2, enable-leader-migration]", "[v=4, enable-leader-migration]"} {
			assert.Truef(t, strings.Contains(after, list), "there is no %s in\n%s", list, after)
		}
		return
	}
	t.Error("there is no such stage")
}
