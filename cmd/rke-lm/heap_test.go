// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestTheEnvironmentDecidesHowOftenGarbageIsCollected(t *testing.T) {
	t.Cleanup(func() { spare = nil })
	for _, set := range []string{"GOGC", "GOMEMLIMIT", ""} {
		spare = nil
		spareHeap(func(name string) string {
			if name == set {
				return "50"
			}
			return ""
		})
		if kept := len(spare) > 0; kept != (set == "") {
			t.Errorf("with %q in the environment memory is kept: %t", set, kept)
		}
	}
}
