// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// Timing is how managers elect their leaders.
type Timing struct{ Lease, Renew, Retry time.Duration }

// Short keeps a run near a minute: its leader ends a second before another one leads, as lease-timings-unsafe requires.
// Defaults are Kubernetes' own.
var (
	Short    = Timing{Lease: 4 * time.Second, Renew: 2400 * time.Millisecond, Retry: 500 * time.Millisecond}
	Defaults = Timing{Lease: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second}
)

// Takeover is the longest time that passes between the last renewal of a dead leader and the first hold of
// a candidate that waits: a candidate looks again after at most 2.2 times the retry period.
func (t Timing) Takeover() time.Duration { return t.Lease + t.Retry*22/10 }

// stretched is a timing for a slow machine, on which a leader that lives could not renew in time. Leases are
// stored in whole seconds, and none gets longer than Kubernetes' own.
func (t Timing) stretched(times int) Timing {
	n := time.Duration(max(1, min(times, int(Defaults.Lease/t.Lease))))
	return Timing{t.Lease * n, t.Renew * n, t.Retry * n}
}

// slowness compares how long a control plane took to start with what it takes where little else runs.
func slowness(took time.Duration) int {
	const usual = 8 * time.Second
	return 1 + int(took/usual)
}

func (t Timing) flags() []string {
	return []string{
		"--leader-elect-lease-duration=" + t.Lease.String(),
		"--leader-elect-renew-deadline=" + t.Renew.String(),
		"--leader-elect-retry-period=" + t.Retry.String(),
	}
}
