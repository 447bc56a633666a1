// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
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
func (c Migration) Grant(own transform.Stage) transform.Stage {
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
	gap:      transform.Span{Least: 18, Most: 43}, waits: Migration.kube, takeovers: 2, undoGap: transform.Span{Least: 32, Most: 32},
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
func (c Migration) Enable(own transform.Stage) transform.Stage {
	own.Why = enableWhy + expect(c.gap(&enableMigration)) + leaderRestarts + c.shortWhy(c.Electors.Kube, leadermigration.KubeTimings(), enableShortWhy) + own.Why
	own.Edit = c.unlessRefused(own.Edit)
	own.Verify = append(own.Verify, c.held(After(EnableLeaderMigration, c.Target).Lease)...)
	return own
}

// InstallCCM is the stage that lets a cloud-controller-manager take part in the migration.
const InstallCCM = "install-ccm"

// From this stage to the switch both managers take part in the migration under one lease.
// kube-controller-manager holds it first. When its leader is lost, the cloud-controller-manager
// acquires the lease, runs the same controllers and keeps them: that is as good a state, and
// the switch is as safe.
var installManager = Stage{
	Name: InstallCCM, Edits: true, With: SwitchToExternal,
	Leader:  eitherRuns,
	undoGap: transform.Span{Least: 22, Most: 22}, shortUndoGap: transform.Span{Least: 15, Most: 20}, undoGapEnds: ", until kube-controller-manager acquires the lease",
	shown: func(m Managers) bool { return m.Cloud && m.Flag },
	past:  func(s Observed) bool { return s.Helm && (s.Switched && s.Cloud || s.Installed) },
	undo:  func(s Observed) bool { return s.Cloud },
	after: func(t transform.Target) Check {
		if !t.Situation.HasInTreeProvider() {
			return runsAlone()
		}
		if t.NoLeaderMigration {
			return Check{NodesOnly: true} // both managers are owners until the switch
		}
		return Check{Stage: InstallCCM, AtLeast: InstallCCM, Lease: Either, Granted: true, Manager: true}
	},
	undone: func(t transform.Target) Check {
		if t.NoLeaderMigration {
			return Check{}
		}
		return backTo(enableMigration.after(t))
	},
}

const (
	eitherRuns = "kube-controller-manager or cloud-controller-manager runs the cloud controllers, the one that holds the migration lease, and the other one waits for it"

	installWhy       = "The cloud-controller-manager starts in addition to kube-controller-manager and waits for the migration lease; it initializes nodes from its start. "
	installNotInFile = "The provider is external, and no cloud-controller-manager of AWS is in the file. One may have been installed in another way, such as a release of Helm. Or there is none, and then no manager initializes nodes or creates load balancers. The file does not show which. "

	installLateWhy = "No other manager runs the cloud controllers: kube-controller-manager has none from Kubernetes 1.27 on. The cloud-controller-manager becomes the leader at once, creates the load balancers that are pending, and initializes new nodes. "

	noManagerLeft = "No other manager runs the cloud controllers: without this one no load balancer changes, and new nodes stay uninitialized."

	leaseReturns = "within 30 seconds kube-controller-manager holds the migration lease again"
)

// Install completes the stage of a format. Where leader migration is not used, together says
// how the two managers are kept from running the cloud controllers at once.
func (c Migration) Install(own transform.Stage, together string) transform.Stage {
	if c.Target.Situation.HasInTreeProvider() {
		own.Why = installWhy + own.Why + c.shortWhy(c.Electors.Cloud, leadermigration.CloudTimings(), installShortWhy)
	} else {
		own.Why, own.Caution = installLateWhy+own.Why, noManagerLeft
	}
	if c.Target.NoLeaderMigration && c.Target.Situation.HasInTreeProvider() {
		own.Why += " Without leader migration both managers run the cloud controllers until the switch has reached every control plane: " + together + "."
	}
	own.Edit = c.unlessRefused(own.Edit)
	own.SupersededBy = []string{DisableLeaderMigration}
	own.Verify = append(append(own.Verify, c.managerRuns()), c.held(After(InstallCCM, c.Target).Lease)...)
	own.UndoAfter = append(own.UndoAfter, c.lease(leaseReturns)...)
	return own
}

// InstalledNotInFile is the stage of an external cluster whose document holds no
// cloud-controller-manager: it looks for one before all else that the format does.
func (c Migration) InstalledNotInFile(own transform.Stage) transform.Stage {
	own.Why = installNotInFile + own.Why
	if !c.Target.Situation.HasInTreeProvider() {
		own.Caution = noManagerLeft
	}
	own.SupersededBy = []string{DisableLeaderMigration}
	if len(own.After) > 0 { // it can be installed
		own.Verify = append(own.Verify, c.managerRuns())
		own.UndoAfter = append(own.UndoAfter, c.lease(leaseReturns)...)
	}
	own.After = append([]action.Action{
		pods("a pod must run on every control-plane node, in this namespace or in the one that it was installed in; rke-lm verify also finds them"),
		leases("the lease cloud-controller-manager must have a holder, and be renewed every few seconds", transform.Target{}.Lease()),
	}, own.After...)
	return own
}

// DisableLeaderMigration is the stage that takes the cloud-controller-manager out of the
// migration.
const DisableLeaderMigration = "disable-leader-migration"

var disableMigration = Stage{
	Name: DisableLeaderMigration, Edits: true, long: true, byPods: true,
	Leader: atTheEnd,
	gap:    transform.Span{Least: 17, Most: 21}, shortGap: transform.Span{Least: 8, Most: 11}, waits: Migration.cloud,
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
func (c Migration) DisableWhy() string {
	return disableWhy + expect(c.gap(&disableMigration)) + "." + c.shortWhy(c.Electors.Cloud, leadermigration.CloudTimings(), disableShortWhy)
}

// Disable completes the stage of a format.
func (c Migration) Disable(own transform.Stage) transform.Stage {
	own.Verify = append(own.Verify, c.managerRuns())
	return own
}
