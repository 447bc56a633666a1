// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestTheFlagOfAKubeconfigNamesAFile(t *testing.T) {
	for _, text := range []string{"kubectl --kubeconfig=/home/op/prod.yaml get nodes", "kubectl --kubeconfig prod.yaml get nodes", "run: kubectl --context=prod --kubeconfig='my file' taint node a"} {
		assert.Equal(t, Text(text), text)
	}
	for _, text := range []string{"kubeconfig: hidden-kubeconfig-1", "KUBECONFIG=hidden-kubeconfig-1"} {
		got := Text(text)
		assert.Truef(t, got != text, "%s is shown", text)
	}
}
