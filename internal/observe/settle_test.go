// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/transform/live/observation"
)

// Whether the holder of a long lease is dead shows at the end of the lease, and that
// has to come before the retries end.
func TestLeasesAreFollowedForAsLongAsTheyLast(t *testing.T) {
	own := observation.Manager{Component: observation.CloudManager, Args: []string{"--leader-elect-resource-name=own"}}
	for _, c := range []struct {
		name    string
		seconds int
		want    time.Duration
	}{
		{"kube-controller-manager", 15, 40 * time.Second},
		{"kube-controller-manager", 1, 40 * time.Second},
		{"cloud-provider-extraction-migration", 137, 162 * time.Second},
		{"own", 60, 85 * time.Second},
		{"cloud-controller-manager", 60, 40 * time.Second},
		{"apiserver-7xk2p9qzt4", 3600, 40 * time.Second},
		{"kube-controller-manager", 86400, 5 * time.Minute},
	} {
		o := &observation.Observation{Managers: []observation.Manager{own}, Leases: []observation.Lease{{Name: c.name, DurationSeconds: c.seconds}}}
		if got := settleTime(o); got != c.want {
			t.Errorf("%s of %d s: %s, not %s", c.name, c.seconds, got, c.want)
		}
	}
}
