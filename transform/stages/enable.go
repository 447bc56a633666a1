// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

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
