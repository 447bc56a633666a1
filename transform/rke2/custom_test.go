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
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/stages"
)

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
	_, err := Open(parse(t, tooManyLabels()), "")
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
	plan := assert.Value(plan.Build(Format(), transform.Only(parse(t, text)), transform.Target{}))(t)
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
