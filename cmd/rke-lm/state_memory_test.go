// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestNoClusterOfALongStreamIsKeptForTheSummary(t *testing.T) {
	s := &states{}
	for range mostSummed {
		s.take(worked{})
	}
	if len(s.open) != mostSummed {
		t.Fatalf("%d of %d are kept", len(s.open), mostSummed)
	}
	s.take(worked{}) // the stream did not end
	if s.open != nil || s.ended != nil {
		t.Errorf("%d and %d are kept", len(s.open), len(s.ended))
	}
	if s.know(false); s.looked != mostSummed+1 || s.ended != nil {
		t.Errorf("%d were counted, %d are kept", s.looked, len(s.ended))
	}
}
