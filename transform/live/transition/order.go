// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"reflect"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Changes reports which machines an edit changes, by their labels. A manifest that is
// applied changes no machine, and a new release all.
func (r Planner) Changes(l Transition) (func(labels map[string]string) bool, error) {
	before, after, err := ofBoth(l, r.Target, r.Format.Live.MachineConfig)
	if err != nil {
		return nil, err
	}
	upgrades, err := r.upgrades(l)
	return func(labels map[string]string) bool {
		return upgrades || !reflect.DeepEqual(before(labels), after(labels))
	}, err
}

// upgrades reports whether a transition changes the release.
func (r Planner) upgrades(l Transition) (bool, error) {
	before, after, err := ofBoth(l, r.Target, func(doc *yamledit.Document, t transform.Target) (transform.Cluster, error) {
		return r.Format.Open(transform.Only(doc), t)
	})
	if err != nil {
		return false, err
	}
	return before.Identity().Version != after.Identity().Version, nil
}

// ofBoth reads the object before a transition and after it.
func ofBoth[T any](l Transition, t transform.Target, read func(*yamledit.Document, transform.Target) (T, error)) (before, after T, err error) {
	if before, err = read(l.From(), t); err != nil {
		return before, after, err
	}
	after, err = read(l.To(), t)
	return before, after, err
}

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
