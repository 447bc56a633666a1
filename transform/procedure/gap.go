// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package procedure

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// For how long nobody runs the cloud controllers while a stage rolls out, measured by
// the calls to AWS of real managers of 1.26 with the default timings of leader election
// (leases of 15 s), with one and with three control planes, in RKE2, RKE and manifests.
// No manager gives a lease back when it exits, so each takeover is one lease and a retry;
// two of them make the long gaps.
const (
	enableGap  = "Expect a gap of 18 to 43 seconds in which nobody runs the cloud controllers: the leader restarts, and the leadership may move to the manager that restarts next."
	switchGap  = "Expect a gap of 16 to 20 seconds in which nobody runs the cloud controllers."
	disableGap = "Expect a gap of 17 to 21 seconds in which nobody runs the cloud controllers."
)

// backGaps are the same for stages that are taken back.
var backGaps = map[string]string{
	stages.EnableLeaderMigration:  "Expect a gap of about 32 seconds in which nobody runs the cloud controllers.",
	stages.InstallCCM:             "Expect a gap of about 22 seconds in which nobody runs the cloud controllers, until kube-controller-manager takes the lease.",
	stages.SwitchToExternal:       "No gap is to be expected: the cloud-controller-manager keeps the migration lease and runs on.",
	stages.DisableLeaderMigration: "Expect a gap of 35 to 37 seconds in which nobody runs the cloud controllers.",
}

// BackGap says how long the gap is while a stage is taken back; "" where there is none,
// or where leader migration, of which it is, is not used.
func BackGap(t transform.Target, stage string) string {
	if t.NoLeaderMigration {
		return ""
	}
	return backGaps[stage]
}
