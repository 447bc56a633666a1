// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const manifestKey = "additionalManifest"

// Bundle holds the manifests that RKE2 applies on control planes without a
// restart.
func (m *migration) Bundle() leadermigration.Bundle {
	return leadermigration.Bundle{Holder: m.RKEConfig(), Key: manifestKey, Lease: m.target.Lease()}
}

// grantMigrationLease adds a Role and RoleBinding for the migration lease to
// additionalManifest.
func (m *migration) grantMigrationLease() transform.Stage {
	return m.stages().Grant(transform.Stage{
		Change:    transform.ChangeOf(m.Doc, m.target, m.grantEdit, m.checkGrant, m.Bundle().Revoke),
		Skipped:   m.neverGranted,
		UndoAfter: []action.Action{action.AllRemoved(leadermigration.Namespace, "role,rolebinding", m.target.Lease())},
	})
}

// neverGranted reports whether the switch has begun and the file has no permission on the lease.
func (m *migration) neverGranted() bool { return m.switching() && !m.Bundle().Grants() }

func (m *migration) grantEdit(e *yamledit.Edit) {
	if m.switching() {
		return
	}
	m.Bundle().Grant(e)
}

// checkGrant requires that no machine is configured differently and that the
// lease can be locked.
func (m *migration) checkGrant(after *migration) error {
	return cmp.Or(m.check(after, unchanged), after.Bundle().CheckGrant())
}
