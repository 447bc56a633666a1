// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// GrantMigrationLease is the stage that lets both managers lock the migration lease.
const GrantMigrationLease = "grant-migration-lease"

var grantLease = Stage{
	Name:  GrantMigrationLease,
	Edits: true,
	Holds: "kube-controller-manager runs the cloud controllers, and may lock the migration lease",

	long:  true,
	of:    func(s Set) func() transform.Stage { return s.Grant },
	shown: func(m Managers) bool { return m.Granted },
	after: func(transform.Target) Check {
		return Check{Stage: GrantMigrationLease, AtLeast: GrantMigrationLease, Granted: true}
	},
}

const grantWhy = "kube-controller-manager may not lock the migration lease by default; without the right its cloud controllers " +
	"run nowhere as soon as leader migration is on, and nothing says so. The right stays in place: a rollback needs it."

// Grant completes the stage of a distro.
func (c Cluster) Grant(own transform.Stage) transform.Stage {
	own.Why = grantWhy + own.Why
	own.Verify = append(own.Verify, c.MayLock(leadermigration.ManagerUser))
	return own
}
