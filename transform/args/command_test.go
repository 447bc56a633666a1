// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestACommandIsReadAsTheComponentReadsIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		items []string
		want  map[string]string
	}{
		{"values after an equals sign", []string{"kube-controller-manager", "--cloud-provider=aws", "--v=2"}, map[string]string{"kube-controller-manager": "true", "cloud-provider": "aws", "v": "2"}},
		{"values as items of their own", []string{"--cloud-provider", "aws", "--v", "2"}, map[string]string{"cloud-provider": "aws", "v": "2"}},
		{"a switch takes no value", []string{"--enable-leader-migration", "--cloud-provider", "aws"}, map[string]string{"enable-leader-migration": "true", "cloud-provider": "aws"}},
		{"a flag at the end", []string{"--profiling", "--cloud-provider"}, map[string]string{"profiling": "true", "cloud-provider": "true"}},
		{"underscores", []string{"--cloud_provider=aws", "--enable_leader_migration"}, map[string]string{"cloud-provider": "aws", "enable-leader-migration": "true"}},
		{"a program after another one", []string{"tini", "--", "manager", "--v", "2"}, map[string]string{"tini": "true", "": "true", "manager": "true", "v": "2"}},
	} {
		got := map[string]string{}
		for _, a := range Command(c.items) {
			got[a.Name] = a.Value
		}
		assert.DeepEqual(t, got, c.want, c.name)
	}
}

func TestGatesAreReadFromTheirFlag(t *testing.T) {
	got := Gates([]Arg{Parse("feature-gates=A=true, B=false"), Parse("--feature-gates=C"), Parse("v=2")})
	assert.DeepEqual(t, got, map[string]string{"A": "true", "B": "false", "C": ""})
}
