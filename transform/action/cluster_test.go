// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestCommandsNameTheirCluster(t *testing.T) {
	prod := Cluster{Context: `"${CONTEXT:?}"`}
	for command, want := range map[string]string{
		"kubectl get nodes":                      `kubectl --context="${CONTEXT:?}" get nodes`,
		"a | xargs kubectl taint":                `a | xargs kubectl --context="${CONTEXT:?}" taint`,
		"helm get values ccm":                    `helm --kube-context="${CONTEXT:?}" get values ccm`,
		"rke-lm verify --stage install-ccm":      `rke-lm verify --context="${CONTEXT:?}" --stage install-ccm`,
		`kubectl --kubeconfig "$R" get secret`:   `kubectl --kubeconfig "$R" get secret`,
		"helm upgrade c --values helm/v.yaml":    `helm --kube-context="${CONTEXT:?}" upgrade c --values helm/v.yaml`,
		"rke up --config a.yml; grep kubectlish": "rke up --config a.yml; grep kubectlish",
	} {
		got := prod.In(command)
		assert.Truef(t, got == want, "%s becomes\n%s, want\n%s", command, got, want)
	}
	assert.Equal(t, (Cluster{Kubeconfig: "'my file'"}).In("kubectl get nodes"), "kubectl --kubeconfig='my file' get nodes")
	assert.Equal(t, (Cluster{}).In("kubectl get nodes"), "kubectl get nodes")
}
