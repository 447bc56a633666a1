// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Grant adds a Role and RoleBinding for the migration lease, unless the manifests
// grant it already. The edit fails where others of the name grant something else.
func (b Bundle) Grant(e *yamledit.Edit) {
	docs, err := b.Documents()
	if err != nil || Granted(docs, b.Lease) {
		e.Fail(err)
		return
	}
	if n, found := conflict(docs, b.Lease); found {
		e.Fail(n.Errorf("a manifest with the name "+b.Lease+" exists, but does not permit kube-controller-manager to acquire the migration lease", "complete its rules and subjects, or rename it"))
	}
	b.Append(e, Grant(b.Lease))
}

// Grants reports whether the manifests grant the migration lease, or cannot be read.
func (b Bundle) Grants() bool {
	granted, err := b.granted()
	return err != nil || granted
}

func (b Bundle) granted() (bool, error) {
	docs, err := b.Documents()
	return Granted(docs, b.Lease), err
}

// CheckGrant requires that the lease can be locked.
func (b Bundle) CheckGrant() error {
	if granted, err := b.granted(); err != nil || granted {
		return err
	}
	return fmt.Errorf("the manifest would not permit %s to acquire the migration lease", ManagerUser)
}

// Revoke takes the Role and the RoleBinding out. The edit fails where the file does not
// tell that they are there for the migration alone.
func (b Bundle) Revoke(e *transform.Reverse) {
	docs, err := b.Documents()
	if err != nil {
		e.Fail(err)
		return
	}
	n, there := conflict(docs, b.Lease)
	if !there {
		return
	}
	ours, all := WhereIn(docs, Grant(b.Lease))
	if !all {
		e.Fail(transform.Lost(n, "this manifest differs from the one that rke-lm writes, so it may have another purpose"))
	}
	if n, used := usedBy(docs, ours, b.Lease); used {
		e.Fail(transform.Lost(n, "this manifest also uses the role "+b.Lease))
	}
	b.Remove(e, ours)
}

// CheckGranted refuses to give the flag back to a manager that could not lock the
// lease.
func (b Bundle) CheckGranted() error {
	if granted, err := b.granted(); err != nil || granted {
		return err
	}
	return transform.Lost(b.Holder, b.Key+" does not permit kube-controller-manager to acquire the migration lease, and its cloud controllers would not run")
}
