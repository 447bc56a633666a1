// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const manifestKey = "additionalManifest"

// grantMigrationLease adds a Role and RoleBinding for the migration lease to
// additionalManifest, which RKE2 applies on control planes without a restart.
func (m *migration) grantMigrationLease() transform.Stage {
	return transform.Stage{
		Name: transform.GrantMigrationLease,
		Why: "kube-controller-manager may not lock the migration lease by default; without the right its cloud controllers " +
			"run nowhere as soon as leader migration is on, and nothing says so. The right stays in place: a rollback needs it.",
		Edit:   m.grantEdit,
		Check:  m.checkGrant,
		Undo:   m.grantUndo,
		Verify: []transform.Action{transform.MayLock{User: leadermigration.ManagerUser, Lease: m.target.LeaseName}},
		Restore: []transform.Action{transform.Gone{
			Namespace: leadermigration.Namespace, Kinds: "role,rolebinding", Name: m.target.Lease(),
		}},
	}
}

func (m *migration) grantEdit() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	if m.switching() {
		return e, nil
	}
	docs, err := m.manifest()
	if err != nil {
		return nil, err
	}
	if leadermigration.Granted(docs, m.target.Lease()) {
		return e, nil
	}
	if n, found := leadermigration.Conflict(docs, m.target.Lease()); found {
		return nil, n.Errorf("a manifest of the name "+m.target.Lease()+" is there, but does not let kube-controller-manager lock the migration lease", "complete its rules and subjects, or give it another name")
	}
	return e, m.appendManifest(e, leadermigration.Grant(m.target.Lease()))
}

// checkGrant requires that no machine is configured differently and that the
// lease can be locked.
func (m *migration) checkGrant(after transform.Cluster) error {
	if err := m.check(after, unchanged); err != nil {
		return err
	}
	docs, err := after.(*migration).manifest()
	if err != nil {
		return err
	}
	if !leadermigration.Granted(docs, m.target.Lease()) {
		return fmt.Errorf("the manifest would not let %s lock the migration lease", leadermigration.ManagerUser)
	}
	return nil
}
