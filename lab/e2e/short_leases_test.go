// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform"
)

// shortLeases asks for shorter gaps.
var shortLeases = transform.Target{ShortLeases: true}

// The stages set timings on both managers, next to the default ones of everything else. How long the gaps are is shown
// here, and required by make handover.
func TestShortLeasesOfAnRKE2Cluster(t *testing.T) {
	s := throughShortLeases(t, alongRKE2With(shortLeases))
	s.end("rke2-short-leases")
}

// RKE has the timings of one manager, and the values of its chart those of the other.
func TestShortLeasesOfAnRKE1Cluster(t *testing.T) {
	s := throughShortLeases(t, func(s *scenario) route { return s.alongRKE1(shortLeases) })
	s.end("rke1-short-leases")
}

func throughShortLeases(t *testing.T, along func(*scenario) route) *measured {
	t.Helper()
	if soaks() {
		t.Skip("has the default timings anyway")
	}
	m := measure(t, t.Name(), 3)
	m.through(m.along(along))
	m.alone()
	m.writers(cluster.KCM, cluster.CCM)
	return m
}
