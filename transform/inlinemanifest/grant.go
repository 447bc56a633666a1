// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package inlinemanifest

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Grant adds a Role and RoleBinding for the migration lease, unless the manifests
// grant it already. It fails where others of the name grant something else.
func (b Bundle) Grant(e *yamledit.Edit) error {
	docs, err := b.Documents()
	if err != nil || leadermigration.Granted(docs, b.Lease) {
		return err
	}
	if n, found := leadermigration.Conflict(docs, b.Lease); found {
		return n.Errorf("a manifest with the name "+b.Lease+" exists, but does not permit kube-controller-manager to acquire the migration lease", "complete its rules and subjects, or rename it")
	}
	return b.Append(e, leadermigration.Grant(b.Lease))
}

// Grants reports whether the manifests grant the migration lease, or cannot be read.
func (b Bundle) Grants() bool {
	docs, err := b.Documents()
	return err != nil || leadermigration.Granted(docs, b.Lease)
}

// CheckGrant requires that the lease can be locked.
func (b Bundle) CheckGrant() error {
	docs, err := b.Documents()
	if err != nil {
		return err
	}
	if !leadermigration.Granted(docs, b.Lease) {
		return fmt.Errorf("the manifest would not permit %s to acquire the migration lease", leadermigration.ManagerUser)
	}
	return nil
}

// Revoke takes the Role and the RoleBinding out. It fails where the file does not
// tell that they are there for the migration alone.
func (b Bundle) Revoke(e *transform.Reverse) error {
	docs, err := b.Documents()
	if err != nil {
		return err
	}
	n, there := leadermigration.Conflict(docs, b.Lease)
	if !there {
		return nil
	}
	ours, all := WhereIn(docs, leadermigration.Grant(b.Lease))
	if !all {
		return transform.Lost(n, "this manifest differs from the one that rke-lm writes, so it may have another purpose")
	}
	if n, used := leadermigration.UsedBy(docs, ours, b.Lease); used {
		return transform.Lost(n, "this manifest also uses the role "+b.Lease)
	}
	return b.Remove(e, ours)
}

// CheckGranted refuses to give the flag back to a manager that could not lock the
// lease.
func (b Bundle) CheckGranted() error {
	docs, err := b.Documents()
	if err != nil {
		return err
	}
	if !leadermigration.Granted(docs, b.Lease) {
		return transform.Lost(b.Holder, b.Key+" does not permit kube-controller-manager to acquire the migration lease, and its cloud controllers would not run")
	}
	return nil
}
