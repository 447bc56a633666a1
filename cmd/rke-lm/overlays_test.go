// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

func TestABaseThatAnOverlayPatchesIsRefusedByEveryVerbThatPlans(t *testing.T) {
	here(t, map[string]string{
		".git/HEAD":                      "ref: refs/heads/main\n",
		"base/kustomization.yaml":        "resources: [cluster.yaml]\n",
		"base/cluster.yaml":              small("harbour"),
		"overlays/eu/kustomization.yaml": "resources: [../../base]\npatches: [{path: patch.yaml}]\n",
		"overlays/eu/patch.yaml": "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: harbour}\nspec:\n  rkeConfig:\n    machineGlobalConfig:\n" +
			"      kube-controller-manager-arg: [node-monitor-grace-period=30s]\n",
		"overlays/us/kustomization.yaml": "resources: [../../base]\nnamePrefix: us-\n",
	})
	const refused = "base/cluster.yaml:1: overlays/eu/patch.yaml:7 changes spec.rkeConfig.machineGlobalConfig.kube-controller-manager-arg"
	const advice = "kubectl kustomize overlays/eu | rke-lm plan - (likewise overlays/us)"
	for _, c := range []struct {
		line string
		code int
		want []string
	}{
		{"plan base/cluster.yaml", transform.ExitInput, []string{refused, advice}},
		{"plan -o yaml base", transform.ExitInput, []string{refused, advice}},
		{"plan -o markdown base", transform.ExitInput, []string{refused, advice}},
		{"plan .", transform.ExitInput, []string{refused, "overlays/eu/patch.yaml:1: a patch of overlays/eu/kustomization.yaml"}},
		{"apply --next base/cluster.yaml", transform.ExitInput, []string{refused, advice}},
		{"apply --undo enable-leader-migration base", transform.ExitInput, []string{refused, advice}},
		{"lint base", transform.ExitInput, []string{"error changed-by-overlay  base/cluster.yaml:1", "warning node-rename"}},
		{"lint --fix base", transform.ExitInput, []string{"changed-by-overlay"}},
		{"explain base", transform.ExitDone, []string{"cloud-provider-name"}},
		{"plan --accept changed-by-overlay base/cluster.yaml", transform.ExitDone, []string{"rke2 fleet-default/harbour"}},
		{"lint --accept changed-by-overlay base/cluster.yaml", transform.ExitDone, []string{"accepted: 1"}},
		{"plan overlays/us", transform.ExitRefused, []string{"overlays/us/kustomization.yaml: a kustomization, not a cluster; plan its output: kubectl kustomize overlays/us | rke-lm plan -"}},
		{"plan overlays/us/kustomization.yaml", transform.ExitRefused, []string{"overlays/us/kustomization.yaml: a kustomization"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			shows(t, c.code, c.line, c.want...)
			assert.Equal(t, textOf(t, "base/cluster.yaml"), small("harbour"), "the base was written")
		})
	}
}
