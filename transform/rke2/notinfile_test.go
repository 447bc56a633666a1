// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

const (
	aManager   = "additionalManifest: |\n  kind: DaemonSet\n  metadata: {name: x}\n  spec: {template: {spec: {containers: [{image: r.example.com/aws-cloud-controller-manager:v1.26.1}]}}}\n"
	overridden = "machineGlobalConfig:\n  cloud-provider-name: aws\n  disable-cloud-controller: true\n  kubelet-arg: [cloud-provider=external]\n  kube-apiserver-arg: [cloud-provider=external]\n  kube-controller-manager-arg: [cloud-provider=external]\n"
)

func TestAnExternalClusterMayHaveItsManagerFromElsewhere(t *testing.T) {
	for _, c := range []struct {
		name, config string
		want         plan.State
		open         bool
	}{
		{"nothing in the file", globalOff, plan.NotInFile, true},
		{"the provider is external only in the arguments of components, so it was changed in another way", overridden, plan.NotInFile, true},
		{"other manifests", "additionalManifest: |\n  kind: ConfigMap\n  metadata: {name: x}\n" + globalOff, plan.NotInFile, true},
		{"a workload", aManager + globalOff, plan.Done, false},
		{"in-tree", onAWS, plan.Todo, true},
		{"one pool in-tree", twoZones + onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: external, disable-cloud-controller: true}\n  " + forZoneA + "\n", plan.Todo, true},
	} {
		p := planned(t, release, c.config, transform.Target{})
		s := step(t, p, stages.InstallCCM)
		assert.Truef(t, s.State == c.want && isLeft(p) == c.open, "%s: %s, %+v", c.name, s.State, p.Summary())
		last := step(t, p, stages.DisableLeaderMigration)
		assert.Truef(t, (last.State == plan.NotInFile) == (c.want == plan.NotInFile), "%s: the end is %s", c.name, last.State)
		known := transform.Target{Accept: []string{rules.CCMNotInFile.ID}}
		assert.True(t, c.want != plan.NotInFile || !isLeft(planned(t, release, c.config, known)), "what is known stays open", c.name)
	}
}

func isLeft(p *plan.Plan) bool { return p.Summary().Counts.Count() != plan.CountDone }

func TestOnlyTheStageItselfAddsAManagerToAnExternalCluster(t *testing.T) {
	doc := parse(t, document(release, globalOff))
	for _, c := range []plan.Choice{{Next: true}, {Stage: stages.InstallCCM, Through: true}, {Stage: stages.DisableLeaderMigration, Through: true}, {Stage: stages.DisableLeaderMigration}} {
		p := assert.Value(plan.BuildFor(Format(), transform.Only(doc), chosen, c))(t)
		steps, err := p.Choose(c)
		first := (*plan.ManualStagePending)(nil)
		assert.Truef(t, errors.As(err, &first) == c.Next && (c.Next || err == nil) && len(steps) == 0, "%+v: %v, %v", c, steps, err)
	}
	c := plan.Choice{Stage: stages.InstallCCM}
	p := assert.Value(plan.BuildFor(Format(), transform.Only(doc), chosen, c))(t)
	steps, err := p.Choose(c)
	assert.Must(t, err == nil && len(steps) == 1, steps, err)
	text := string(steps[0].After()[0].Bytes())
	assert.Truef(t, strings.Contains(text, "chart: aws-cloud-controller-manager") && !strings.Contains(text, leaderFlag), "no one is left to migrate from:\n%s", text)
	again := assert.Value(plan.Build(Format(), steps[0].After(), chosen))(t)
	assert.Truef(t, !isLeft(again), "something is left: %+v", again.Steps)
}

// The image of a finished migration moves with the cluster; the flag does not come
// back for that.
func TestNoStagePutsTheFlagOnAChartThatHasLeftTheMigration(t *testing.T) {
	p := planned(t, "v1.27.16+rke2r2", globalOff+"additionalManifest: |\n  apiVersion: helm.cattle.io/v1\n  kind: HelmChart\n  metadata: {name: aws-cloud-controller-manager, namespace: kube-system}\n  spec:\n    chart: aws-cloud-controller-manager\n    version: 0.0.8\n    valuesContent: |-\n      image: {tag: v1.26.6}\n      args: [--cloud-provider=aws, --configure-cloud-routes=false]\n", chosen)
	for _, s := range p.Steps {
		assert.Mustf(t, !strings.Contains(string(s.After()[0].Bytes()), leaderFlag), "%s puts the flag there", s.Stage.Name)
	}
	assert.True(t, step(t, p, stages.InstallCCM).State == plan.Done && step(t, p, stages.DisableLeaderMigration).State == plan.Todo, p.Steps)
}
