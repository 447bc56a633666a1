// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ownManager is a cloud-controller-manager that runs without the chart.
const ownManager = "additionalManifest: |\n  kind: ConfigMap # stays\n  ---\n  apiVersion: apps/v1\n  kind: DaemonSet\n  metadata:\n    name: aws-cloud-controller-manager\n    namespace: kube-system\n" +
	"  spec:\n    template:\n      spec:\n        containers:\n          - name: ccm\n            image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6\n            args:\n              - --v=2\n              - --cloud-provider=aws # ours\n"

func TestAManagerWithoutTheChartGetsTheFlagAndNoChartNextToIt(t *testing.T) {
	p := planned(t, release, onAWS+ownManager, inTurn)
	install := string(step(t, p, stages.InstallCCM).Documents[0].After.Bytes())
	assert.Truef(t, !strings.Contains(install, "HelmChart") && strings.Contains(install, "- --cloud-provider=aws # ours\n                  - --enable-leader-migration\n"), "installed:\n%s", install)
	end := string(step(t, p, stages.DisableLeaderMigration).Documents[0].After.Bytes())
	assert.Truef(t, !strings.Contains(end, "enable-leader-migration") && strings.Contains(end, "cloud-provider=aws # ours\n"), "at the end:\n%s", end)
}

func TestAManagerThatHasTheFlagKeepsItForAsLongAsItIsNeeded(t *testing.T) {
	p := planned(t, release, onAWS+ownManager+"              - --enable-leader-migration=true\n", inTurn)
	assert.True(t, !step(t, p, stages.InstallCCM).Changes(), "it was changed")
	assert.True(t, step(t, p, stages.DisableLeaderMigration).Changes(), "the flag stays")
	kept := inTurn
	kept.KeepLeaderMigration = true
	assert.True(t, !step(t, planned(t, release, onAWS+ownManager, kept), stages.DisableLeaderMigration).Changes(), "the flag was to stay")
}

func TestAManagerWithoutTheChartIsNotGivenAConfiguration(t *testing.T) {
	generated := inTurn
	generated.LeaderMigrationConfig = transform.ConfigGenerate
	_, err := plan.Build(Format(), transform.Only(parse(t, document(release, onAWS+ownManager))), generated)
	assert.ErrorContains(t, err, "rke-lm does not add its configuration; remove --leader-migration-config")
}

func TestTheFlagOfAManagerWithoutTheChartIsUndoneInTheUsualForm(t *testing.T) {
	p := planned(t, release, onAWS+ownManager, inTurn)
	for _, stage := range []string{stages.DisableLeaderMigration, stages.InstallCCM} {
		s := step(t, p, stage)
		assert.Error(plan.Undo(Format(), s.After(), inTurn, stage, false))(t, "--canonical", stage)
		steps, err := plan.Undo(Format(), s.After(), usual, stage, false)
		assert.Mustf(t, err == nil && len(steps) == 1, "%s: %v", stage, err)
		assert.Truef(t, yamledit.Same(steps[0].After()[0].Root().Value(), s.Before()[0].Root().Value()), "%s: back to\n%s", stage, steps[0].After()[0].Bytes())
	}
}
