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
		SupersededBy: []string{transform.SwitchToExternal},
		Edit:         m.grantEdit,
		Check:        m.checkGrant,
	}
}

func (m *migration) grantEdit() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	at := m.RKEConfig().Get(manifestKey)
	switch {
	case !at.Exists():
		e.Insert(m.RKEConfig(), manifestKey, trimBreak(leadermigration.Grant))
		return e, nil
	case at.IsNull():
		e.Set(at, trimBreak(leadermigration.Grant))
		return e, nil
	}
	manifest, err := e.Embedded(at)
	if err != nil {
		return nil, err
	}
	if leadermigration.Granted(manifest.Documents()) {
		return e, nil
	}
	if n, found := leadermigration.Conflict(manifest.Documents()); found {
		return nil, n.Errorf("a manifest of the name "+leadermigration.Lease+" is there, but does not let kube-controller-manager lock the migration lease", "complete its rules and subjects, or give it another name")
	}
	manifest.Append(leadermigration.Grant)
	return e, nil
}

// trimBreak lets a new manifest end in the last line, so that it is stripped (|-).
func trimBreak(s string) string { return s[:len(s)-1] }

// checkGrant requires that no machine is configured differently and that the
// lease can be locked.
func (m *migration) checkGrant(after transform.Cluster) error {
	nothing := func(Class, string, any, any) bool { return false }
	if err := m.check(after, nothing); err != nil {
		return err
	}
	manifest, err := after.(*migration).RKEConfig().Get(manifestKey).Embedded()
	if err != nil {
		return err
	}
	if !leadermigration.Granted(manifest.Documents()) {
		return fmt.Errorf("the manifest would not let %s lock the migration lease", leadermigration.ManagerUser)
	}
	return nil
}
