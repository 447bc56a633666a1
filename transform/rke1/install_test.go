// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"
	"testing"

	values "github.com/rke-lm/rke-lm/charts/aws-ccm-values"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// files returns the files of a stage by their names.
func files(t *testing.T, text, stage string, target transform.Target) map[string]string {
	t.Helper()
	list := assert.Value(stageOf(t, opened(t, text, target), stage).Files())(t)
	found := map[string]string{}
	for _, f := range list {
		found[f.Name] = f.Content
	}
	return found
}

func chartOf(t *testing.T, text string) ccm.Chart {
	t.Helper()
	return assert.Value(ccm.FromValues(parse(t, text).Root()))(t)
}

func TestTheChartComesWithItsValues(t *testing.T) {
	got := files(t, at(release, onAWS), stages.InstallCCM, transform.Target{ImageRepository: "registry.example.com/ccm"})
	chart := chartOf(t, got[valuesFile])
	assert.True(t, chart.Migrates() && chart.ImageTag() == "v1.26.6" && len(got) == 1 && strings.Contains(got[valuesFile], "registry.example.com/ccm"), got)
	got = files(t, at(release, onAWS+"  awsCloudProvider: {global: {zone: a}}\n"), stages.InstallCCM, transform.Target{NoLeaderMigration: true})
	assert.True(t, !chartOf(t, got[valuesFile]).Migrates() && strings.Contains(got[valuesFile], "--cloud-config=") && got[cloudConfigFile] == "[Global]\nZone = a\n", got)
}

func TestTheLastValuesAreThoseOfTheTarget(t *testing.T) {
	for _, c := range []struct {
		target transform.Target
		tag    string
		flag   bool
	}{
		{transform.Target{}, "v1.26.6", false},
		{transform.Target{Version: "v1.27.16-rancher1-1"}, "v1.27.2", false},
		{transform.Target{Version: "v1.27.16-rancher1-1", KeepLeaderMigration: true}, "v1.27.2", true},
		{transform.Target{Version: "v1.27.16-rancher1-1", ImageTag: "v1.26.7"}, "v1.27.2", false},
		{transform.Target{ImageTag: "v1.26.7"}, "v1.26.7", false},
		{transform.Target{ImageTag: "own"}, "own", false},
	} {
		chart := chartOf(t, files(t, at(release, onAWS), stages.DisableLeaderMigration, c.target)[finalValuesFile])
		assert.Truef(t, chart.ImageTag() == c.tag && chart.Migrates() == c.flag, "%+v: %s, %v", c.target, chart.ImageTag(), chart.Migrates())
	}
	kept := stageOf(t, opened(t, at(release, onAWS), transform.Target{KeepLeaderMigration: true}), stages.DisableLeaderMigration)
	assert.Truef(t, kept.Files == nil && len(kept.After) == 0, "nothing is to be done: %+v", kept.After)
}

func TestTheChartLandsOnControlPlanesAlone(t *testing.T) {
	for _, minor := range values.Minors(Name) {
		text, _ := values.ForMinor(Name, minor)
		chart := chartOf(t, text)
		for _, roles := range [][]string{{"controlplane"}, {"controlplane", "etcd"}, {"controlplane", "worker"}, {"controlplane", "etcd", "worker"}} {
			assert.Equal(t, chart.Refuses(nodeClass(node{Role: roles})), "", minor, roles)
		}
		for _, roles := range [][]string{{"etcd"}, {"worker"}, {"etcd", "worker"}} {
			assert.Truef(t, chart.Refuses(nodeClass(node{Role: roles})) != "", "%s also lands on %v", minor, roles)
		}
	}
	// Without the null, Helm keeps the chart's own selector, which no node of RKE has.
	text, _ := values.ForMinor(Name, "v1.26")
	trap := chartOf(t, strings.Replace(text, "  node-role.kubernetes.io/control-plane: null\n", "", 1))
	assert.True(t, trap.Refuses(nodeClass(node{Role: []string{"controlplane"}})) != "", "the trap does not show")
}

func TestTheChartToleratesTheTaintsOfTheNodes(t *testing.T) {
	const tainted = "nodes:\n- address: 10.0.0.1\n  internal_address: 10.0.0.1\n  role: [controlplane, etcd]\n  taints:\n  - key: reserved-for\n    value: control\n    effect: NoExecute\n"
	for _, stage := range []string{stages.InstallCCM, stages.DisableLeaderMigration} {
		for file, text := range files(t, at(release, onAWS+tainted), stage, transform.Target{}) {
			if file != valuesFile && file != finalValuesFile {
				continue
			}
			assert.Truef(t, strings.Contains(text, "key: reserved-for\n    operator: Exists\n    effect: NoExecute") && strings.Contains(text, "control-plane: null"), "%s:\n%s", file, text)
			m := opened(t, at(release, onAWS+tainted), transform.Target{})
			assert.Equal(t, chartOf(t, text).Refuses(m.controlPlaneNodes()[0]), "", file)
		}
	}
}

func TestRKEWorksNextToItsStateFile(t *testing.T) {
	doc := parse(t, at(release, onAWS+nodes))
	by := deliver(doc, "plans/05-switch.yaml")
	assert.True(t, by.Command == "" && strings.Contains(by.How, ".rkestate"), by)
	by = deliver(parse(t, "rancher_kubernetes_engine_config: {}\n"), "a.yaml")
	assert.True(t, by.Command == "" && strings.Contains(by.How, "Rancher"), by)
	for file, want := range map[string]string{"a b.yml": "rke up --config 'a b.yml'", "a'; rm b": `rke up --config 'a'\''; rm b'`} {
		assert.Equal(t, action.RKEUp(file).Command, want)
	}
}
