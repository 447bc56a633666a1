// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"slices"
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

func TestOnlyTheOrderAmongDifferentFlagsMeansNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		a, b  []any
		alike bool
	}{
		{"another order", []any{"v=2", "audit-log-maxage=30"}, []any{"audit-log-maxage=30", "v=2"}, true},
		{"another spelling", []any{"--v=2", "anonymous_auth=false", "profiling"}, []any{"anonymous-auth=false", "profiling=true", "v=2"}, true},
		{"the last one counts", []any{"v=2", "v=4"}, []any{"v=4"}, true},
		{"and not the first", []any{"v=2", "v=4"}, []any{"v=4", "v=2"}, false},
		{"another value", []any{"v=2"}, []any{"v=3"}, false},
		{"one that is lost", []any{"v=2", "profiling"}, []any{"v=2"}, false},
		{"maps are merged", []any{"feature-gates=A=true", "feature-gates=A=false"}, []any{"feature-gates=A=false"}, false},
		{"in their order", []any{"feature-gates=A=true", "feature-gates=A=false"}, []any{"feature-gates=A=false", "feature-gates=A=true"}, false},
		{"lists grow", []any{"service-account-issuer=a", "service-account-issuer=b"}, []any{"service-account-issuer=b", "service-account-issuer=a"}, false},
		{"whatever is between", []any{"service-account-issuer=a", "v=2", "service-account-issuer=b"}, []any{"service-account-issuer=a", "service-account-issuer=b", "v=2"}, true},
	} {
		assert.Equal(t, slices.Equal(Texts(ForAPIServer(Of(c.a))), Texts(ForAPIServer(Of(c.b)))), c.alike, c.name)
	}
}
