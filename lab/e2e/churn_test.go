// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// busy makes Services all along, until the function that it returns is called.
func (s *scenario) busy() (stop func()) {
	s.Helper()
	assert.NilError(s, s.service(s.Context(), "first"))
	s.served()
	every := 2 * time.Second // the manager that takes over reads all of them again, one by one
	if soaks() {
		every = 15 * time.Second
	}
	return s.traffic(every)
}
