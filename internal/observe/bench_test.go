// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
)

// BenchmarkLook reads a cluster of 5,000 nodes; the server answers in the same
// process, so its work counts as well.
func BenchmarkLook(b *testing.B) {
	s := apitest.Start(b)
	s.Fill(5000)
	ob := observer(b, s, 10*time.Second)
	b.ReportAllocs()
	for b.Loop() {
		o, err := ob.Observe(b.Context())
		assert.Must(b, err == nil && len(o.Nodes) == 5000, err)
	}
	b.ReportMetric(float64(s.Count(""))/float64(b.N), "requests/op")
}
