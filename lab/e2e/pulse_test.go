// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/lab/cluster"
)

// pulse is how late things were on this machine while a scenario ran, as far as the scenario's own process and
// the API server could notice. What is late for them is late for the managers.
type pulse struct{ longest atomic.Int64 }

// feel takes the pulse until the test ends.
func (s *scenario) feel() {
	const beat = 100 * time.Millisecond
	began := time.Now()
	s.meanwhile(beat, func(ctx context.Context) error {
		// Whatever the answer is, its time counts.
		_, _ = s.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, string(cluster.KCM), metav1.GetOptions{})
		late := time.Since(began) - beat
		s.pulse.longest.Store(max(s.pulse.longest.Load(), int64(late)))
		began = time.Now()
		return nil
	})
}

// slack is what this machine may add to a takeover: as much more than on an idle one as it took longer to start
// the control plane, and the longest delay that was noticed since, for a request and for its retry.
func (s *scenario) slack() time.Duration {
	return time.Duration(s.cluster.Slowness)*2*time.Second + 2*time.Duration(s.pulse.longest.Load())
}
