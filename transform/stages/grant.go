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
	Name: GrantMigrationLease, Edits: true, long: true,
	Leader: "kube-controller-manager runs the cloud controllers, and has permission on the migration lease",
	shown:  func(m Managers) bool { return m.Granted },
	after: func(transform.Target) Check {
		return Check{Stage: GrantMigrationLease, AtLeast: GrantMigrationLease, Granted: true}
	},
}

const grantWhy = "By default kube-controller-manager has no permission on the migration lease; without it no manager runs the cloud controllers " +
	"once leader migration is enabled, and no error is reported. The permission stays: a rollback needs it."

// Grant completes the stage of a format.
func (c Cluster) Grant(own transform.Stage) transform.Stage {
	own.Why = grantWhy + own.Why
	own.Verify = append(own.Verify, c.MayLock(leadermigration.ManagerUser))
	return own
}
