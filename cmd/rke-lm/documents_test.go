// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

const (
	podOfManager = `apiVersion: v1
kind: Pod
metadata: {name: kube-controller-manager, namespace: kube-system}
spec:
  containers:
  - name: manager
    image: registry.k8s.io/kube-controller-manager:v1.26.15
    command:
    - kube-controller-manager
    - --cloud-provider=aws
    - --enable-leader-migration
`
	daemonSetOfCloud = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: aws-cloud-controller-manager, namespace: kube-system}
spec:
  selector: {matchLabels: {app: ccm}}
  template:
    metadata: {labels: {app: ccm}}
    spec:
      containers:
      - name: manager
        image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6
        args:
        - --cloud-provider=aws
        - --configure-cloud-routes=false
`
	flagLine = "        - --enable-leader-migration\n"
)

func TestASavedPlanKnowsEachDocumentOfItsCluster(t *testing.T) {
	planned(t, map[string]string{"in/kcm.yaml": podOfManager, "in/ccm.yaml": daemonSetOfCloud}, "in")
	for _, name := range []string{"00-start.pod-kube-controller-manager.yaml", "03-install-ccm.daemonset-aws-cloud-controller-manager.yaml", "05-switch-to-external.pod-kube-controller-manager.yaml"} {
		textOf(t, filepath.Join("plans", "kube-system", "kube-controller-manager", name))
	}
	shows(t, transform.ExitRefused, "apply --plan plans --next in/kcm.yaml", "has one more document")
	for _, stage := range []string{"install-ccm", "switch-to-external"} {
		shows(t, transform.ExitDone, "apply --plan plans --stage "+stage+" in", stage+" written")
	}
	shows(t, transform.ExitDone, "apply --plan plans --undo install-ccm --through in")
	assert.True(t, textOf(t, "in/kcm.yaml") == podOfManager && textOf(t, "in/ccm.yaml") == daemonSetOfCloud, "the undo gives other bytes")
	putFile(t, "in/ccm.yaml", strings.Replace(daemonSetOfCloud, "v1.26.6", "v1.26.7", 1))
	shows(t, transform.ExitRefused, "apply --plan plans --next in", "in/ccm.yaml:1: document 1 (kube-system/kube-controller-manager) has changed since it was planned")
}

// The second of two files cannot be written: what was written is said, and the same
// command continues.
func TestAClusterWhoseSecondFileCannotBeWrittenContinues(t *testing.T) {
	here(t, map[string]string{"kcm.yaml": podOfManager, "ccm.yaml": daemonSetOfCloud})
	assert.NilError(t, os.Chmod("kcm.yaml", 0o400))
	const command = "apply --stage switch-to-external --through --end-state external ."
	shows(t, transform.ExitInput, command, "read-only", "ccm.yaml: written; kcm.yaml: not written", "run the same command again")
	// The manager of the cloud waits for the lease before the other one gives it up.
	assert.True(t, textOf(t, "ccm.yaml") == daemonSetOfCloud+flagLine && textOf(t, "kcm.yaml") == podOfManager, "the files are not between install-ccm and the switch")
	assert.NilError(t, os.Chmod("kcm.yaml", 0o600))
	shows(t, transform.ExitDone, command)
	assert.Contains(t, textOf(t, "kcm.yaml"), "--cloud-provider=external", "it does not continue")
}

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
