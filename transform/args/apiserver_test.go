// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

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
