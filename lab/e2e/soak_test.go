// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"
)

// soak names the environment variable that asks for what is too long otherwise: the managers' default
// timings, and the scenarios of this file.
const soak = "LAB_SOAK"

func soaks() bool { return os.Getenv(soak) != "" }

// onlyInSoak skips a scenario that is too long otherwise.
func onlyInSoak(t *testing.T) {
	t.Helper()
	if !soaks() {
		t.Skip("takes minutes; make soak runs it")
	}
}
