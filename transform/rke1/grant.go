// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"cmp"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Bundle holds the manifests that RKE applies with each run and never prunes.
// What addons_include names is not in the file and stays as it is.
func (m *migration) Bundle() leadermigration.Bundle {
	return leadermigration.Bundle{Holder: m.Config, Key: m.spelling.of(addonsKey), Lease: m.target.Lease()}
}

// grantMigrationLease adds a Role and RoleBinding for the migration lease to
// addons.
func (m *migration) grantMigrationLease() transform.Stage {
	name, kinds := m.target.Lease(), "role,rolebinding"
	return m.stages().Grant(transform.Stage{
		Change:  transform.ChangeOf(m.Doc, m.target, m.grantEdit, m.checkGrant, m.Bundle().Revoke),
		Skipped: m.neverGranted,
		After:   []action.Action{m.taken()},
		Caution: "RKE applies addons and never prunes them, so the objects stay in the cluster until you delete them; at that point no manager may have the flag.",
		UndoAfter: []action.Action{
			m.taken(),
			action.DeleteAll(leadermigration.Namespace, kinds, name, "RKE does not delete what was removed from addons"),
			action.AllRemoved(leadermigration.Namespace, kinds, name),
		},
	})
}

// neverGranted reports whether the cluster is external and its addons have no permission on the
// lease.
func (m *migration) neverGranted() bool { return m.isExternal() && !m.Bundle().Grants() }

func (m *migration) grantEdit(e *yamledit.Edit) {
	if m.isExternal() {
		return
	}
	m.Bundle().Grant(e)
}

// checkGrant requires that only addons changed, and that the lease can be locked.
func (m *migration) checkGrant(after *migration) error {
	return cmp.Or(m.check(after, func(path string, _, _ any) bool { return path == "addons" }), after.Bundle().CheckGrant())
}
