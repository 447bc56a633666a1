// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAWordIsNamedOnlyWhenNoOtherIsMeant(t *testing.T) {
	known := []string{"end-state", "chart-repo", "chart-version", "target-version", "kube-apiserver-arg", "cni", "node-a-arg", "node-b-arg"}
	for _, c := range []struct{ name, word, want string }{
		{"a letter too few", "chart-verson", "chart-version"},
		{"two letters swapped", "target-verison", "target-version"},
		{"camel case", "endState", "end-state"},
		{"underscores", "chart_repo", "chart-repo"},
		{"a plus after it", "kube-apiserver-arg+", "kube-apiserver-arg"},
		{"a part too few", "kube-arg", "kube-apiserver-arg"},
		{"a short word is not guessed at", "cmi", ""},
		{"two that are as near", "node-c-arg", ""},
		{"nothing near", "provider", ""},
	} {
		got, found := Nearest(c.word, known)
		assert.Truef(t, got == c.want && found == (c.want != ""), "%s: got %q", c.name, got)
	}
}

func TestDistanceCountsSlips(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abcd", 1}, {"abc", "bc", 1}, {"abc", "axc", 1}, {"kubeapi-server-arg", "kube-apiserver-arg", 2}} {
		got := Distance(c.a, c.b)
		assert.Truef(t, got == c.want && Distance(c.b, c.a) == c.want, "%s, %s: %d, want %d", c.a, c.b, got, c.want)
	}
}
