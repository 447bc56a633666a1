// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package gates

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/transform/args"
)

func TestGatesAreReadFromTheirFlag(t *testing.T) {
	got := Of([]args.Arg{args.Parse("feature-gates=A=true, B=false"), args.Parse("--feature-gates=C"), args.Parse("v=2")})
	if diff := cmp.Diff(map[string]string{"A": "true", "B": "false", "C": ""}, got); diff != "" {
		t.Error(diff)
	}
}

func TestGatesAreStaleByRelease(t *testing.T) {
	for _, c := range []struct {
		name, version, value string
		judge                func(string) Judge
		stale                bool
	}{
		{"volumes, off at 1.24", "v1.24.1", "false", StaleCSI, false},
		{"volumes, off at 1.25", "v1.25.1", "False", StaleCSI, true},
		{"volumes, on at 1.26", "v1.26.1", "true", StaleCSI, false},
		{"volumes, named at 1.27", "v1.27.1", "true", StaleCSI, true},
		{"migration, off at 1.22", "v1.22.1", "0", StaleMigration, true},
		{"migration, on at 1.26", "v1.26.1", "true", StaleMigration, false},
		{"migration, named at 1.27", "v1.27.1", "true", StaleMigration, true},
	} {
		message, fix := c.judge(c.version)(c.value)
		if (message != "") != c.stale || (fix != "") != c.stale {
			t.Errorf("%s: %q, %q", c.name, message, fix)
		}
	}
}
