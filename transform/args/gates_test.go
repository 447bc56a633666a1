// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGatesAreReadFromTheirFlag(t *testing.T) {
	got := Gates([]Arg{Parse("feature-gates=A=true, B=false"), Parse("--feature-gates=C"), Parse("v=2")})
	if diff := cmp.Diff(map[string]string{"A": "true", "B": "false", "C": ""}, got); diff != "" {
		t.Error(diff)
	}
}
