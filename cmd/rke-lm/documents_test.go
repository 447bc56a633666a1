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
