// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/exitcode"
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

// folderOf writes files to a folder of their own, and returns it.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		putFile(t, filepath.Join(folder, name), text)
	}
	return folder
}

func TestASavedPlanKnowsEachDocumentOfItsCluster(t *testing.T) {
	folder, plans := folderOf(t, map[string]string{"kcm.yaml": podOfManager, "ccm.yaml": daemonSetOfCloud}), filepath.Join(t.TempDir(), "plans")
	if r := runHere(t, "", "plan", "--end-state", "external", "--out", plans, folder); r.code != exitcode.Done {
		t.Fatal(r.stderr)
	}
	for _, name := range []string{"00-start.pod-kube-controller-manager.yaml", "03-install-ccm.daemonset-aws-cloud-controller-manager.yaml", "05-switch-to-external.pod-kube-controller-manager.yaml"} {
		_, err := os.Stat(filepath.Join(plans, "kube-system", "kube-controller-manager", name))
		assert.True(t, err == nil, err)
	}
	one := runHere(t, "", "apply", "--plan", plans, "--next", filepath.Join(folder, "kcm.yaml"))
	assert.Truef(t, one.code == exitcode.Refused && strings.Contains(one.stderr, "has one more document"), "one of two files: %d\n%s", one.code, one.stderr)
	for _, stage := range []string{"install-ccm", "switch-to-external"} {
		r := runHere(t, "", "apply", "--plan", plans, "--stage", stage, folder)
		assert.Mustf(t, r.code == exitcode.Done && strings.Contains(r.stderr, stage+" written"), "%s: %d\n%s", stage, r.code, r.stderr)
	}
	if r := runHere(t, "", "apply", "--plan", plans, "--undo", "install-ccm", "--through", folder); r.code != exitcode.Done {
		t.Fatalf("undo: %d\n%s", r.code, r.stderr)
	}
	assert.True(t, textOf(t, filepath.Join(folder, "kcm.yaml")) == podOfManager && textOf(t, filepath.Join(folder, "ccm.yaml")) == daemonSetOfCloud, "the undo gives other bytes")
	putFile(t, filepath.Join(folder, "ccm.yaml"), strings.Replace(daemonSetOfCloud, "v1.26.6", "v1.26.7", 1))
	r := runHere(t, "", "apply", "--plan", plans, "--next", folder)
	assert.Truef(t, r.code == exitcode.Refused && strings.Contains(r.stderr, "ccm.yaml:1: document 1 (kube-system/kube-controller-manager) has changed since it was planned"), "a changed document: %d\n%s", r.code, r.stderr)
}

// The second of two files cannot be written: what was written is said, and the same
// command continues.
func TestAClusterWhoseSecondFileCannotBeWrittenContinues(t *testing.T) {
	folder := folderOf(t, map[string]string{"kcm.yaml": podOfManager, "ccm.yaml": daemonSetOfCloud})
	kcm := filepath.Join(folder, "kcm.yaml")
	assert.NilError(t, os.Chmod(kcm, 0o400))
	command := []string{"apply", "--stage", "switch-to-external", "--through", "--end-state", "external", folder}
	r := runHere(t, "", command...)
	assert.Truef(t, r.code != exitcode.Done && strings.Contains(r.stderr, "read-only") && strings.Contains(r.stderr, "ccm.yaml: written; "+kcm+": not written") && strings.Contains(r.stderr, "run the same command again"), "%d\n%s", r.code, r.stderr)
	// The manager of the cloud waits for the lease before the other one gives it up.
	assert.True(t, textOf(t, filepath.Join(folder, "ccm.yaml")) == daemonSetOfCloud+flagLine && textOf(t, filepath.Join(folder, "kcm.yaml")) == podOfManager, "the files are not between install-ccm and the switch")
	assert.NilError(t, os.Chmod(kcm, 0o600))
	r = runHere(t, "", command...)
	assert.Truef(t, r.code == exitcode.Done && strings.Contains(textOf(t, kcm), "--cloud-provider=external"), "it does not continue: %d\n%s", r.code, r.stderr)
}
