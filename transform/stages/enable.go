// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
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

// EnableLeaderMigration is the stage that gives kube-controller-manager the flag.
const EnableLeaderMigration = "enable-leader-migration"

var enableMigration = Stage{
	Name: EnableLeaderMigration, Edits: true, long: true, byPods: true,
	Leader:   "kube-controller-manager runs the cloud controllers under the migration lease",
	Machines: Machines{Arguments: []string{"kube-controller-manager-arg"}, Flags: append([]string{"enable-leader-migration", "leader-migration-config"}, args.Names(leadermigration.KubeTimings())...)},
	gap:      transform.Span{Least: 18, Most: 43}, waits: Cluster.kube, takeovers: 2, undoGap: transform.Span{Least: 32, Most: 32},
	shown: func(m Managers) bool { return m.Flag },
	after: func(t transform.Target) Check {
		return Check{Stage: EnableLeaderMigration, AtLeast: EnableLeaderMigration, Lease: KubeManager, Granted: true, ShortLeases: t.ShortLeases}
	},
	undone: func(t transform.Target) Check { return backTo(grantLease.after(t)) },
}

const (
	enableWhy      = "kube-controller-manager then runs its cloud controllers under the migration lease, which the other manager can acquire. "
	leaderRestarts = ": the leader restarts, and the leadership may move to the manager that restarts next."
)

// Enable completes the stage of a format.
func (c Cluster) Enable(own transform.Stage) transform.Stage {
	own.Why = enableWhy + expect(c.gap(&enableMigration)) + leaderRestarts + c.shortWhy(c.Electors.Kube, leadermigration.KubeTimings(), enableShortWhy) + own.Why
	own.Edit = c.unlessRefused(own.Edit)
	own.Verify = append(own.Verify, c.held(After(EnableLeaderMigration, c.Target).Lease)...)
	return own
}

// DisableLeaderMigration is the stage that takes the cloud-controller-manager out of the
// migration.
const DisableLeaderMigration = "disable-leader-migration"

var disableMigration = Stage{
	Name: DisableLeaderMigration, Edits: true, long: true, byPods: true,
	Leader: atTheEnd,
	gap:    transform.Span{Least: 17, Most: 21}, shortGap: transform.Span{Least: 8, Most: 11}, waits: Cluster.cloud,
	undoGap: transform.Span{Least: 35, Most: 37}, shortUndoGap: transform.Span{Least: 16, Most: 21},
	shown: func(m Managers) bool { return m.Cloud && m.External && !m.CloudFlag },
	past:  func(s Observed) bool { return s.Helm && s.Finished },
	undo:  func(s Observed) bool { return s.Cloud && !s.Migrates },
	after: func(t transform.Target) Check {
		c := Check{Stage: DisableLeaderMigration, AtLeast: DisableLeaderMigration, Lease: Remaining, Manager: true, External: true}
		if t.KeepLeaderMigration {
			c.AtLeast = SwitchToExternal
		}
		return c
	},
	undone: func(t transform.Target) Check {
		c := switchProvider.after(t)
		c.AtMost = c.AtLeast
		return c
	},
}

const atTheEnd = "the cloud-controller-manager runs the cloud controllers, and the migration is complete"

// Why the stage is there; DisableElsewhere where no cloud-controller-manager is in the
// document of an external cluster.
const (
	disableWhy       = "Only one manager runs the cloud controllers, so the migration lease is not needed: the edit removes the flag from the chart, and the image gets the minor version of the cluster. The permission on the lease stays, because a rollback needs it. "
	DisableNotInFile = "No cloud-controller-manager of AWS is in the file, so the file does not show whether one still has the flag."
)

// DisableWhy is why the stage is there, where the document has the cloud-controller-manager.
func (c Cluster) DisableWhy() string {
	return disableWhy + expect(c.gap(&disableMigration)) + "." + c.shortWhy(c.Electors.Cloud, leadermigration.CloudTimings(), disableShortWhy)
}

// Disable completes the stage of a format.
func (c Cluster) Disable(own transform.Stage) transform.Stage {
	own.Verify = append(own.Verify, c.managerRuns())
	return own
}
