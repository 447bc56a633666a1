// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// SnapshotTaken reports whether Rancher has made the snapshot of a number. It fails
// when Rancher gave it up.
func SnapshotTaken(seen rollout.Objects, number int64) (bool, error) {
	c := seen.ControlPlane
	if c == nil || c.SnapshotGeneration != number {
		return false, nil
	}
	if c.SnapshotPhase == "Failed" {
		return false, fmt.Errorf("the snapshot of etcd failed; journalctl -u rancher-system-agent on the etcd machines shows the cause, and without --etcd-snapshot none is taken")
	}
	return c.SnapshotPhase == "Finished", nil
}
