// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Check is what a cluster has to show at one point of the migration.
type Check struct {
	// Stage is the one whose rules check the cluster; "" for what always has to hold.
	Stage string
	// AtLeast and AtMost are stages between which the managers have to be, as they
	// show it; "" for no bound.
	AtLeast, AtMost string
	// Lease is who has to hold the migration lease.
	Lease Holder
	// Granted means that the managers have to be allowed to lock it.
	Granted bool
	// Manager means that a cloud-controller-manager has to run on every control plane,
	// and External that no one else can run the cloud controllers: it has to lead.
	Manager, External bool
	// Cordoned means that control planes may be cordoned, Released that they just were
	// until then.
	Cordoned, Released bool
	// ProviderIDsPending means that Nodes may lack a provider ID of AWS, as long as the stage that
	// sets it was not done.
	ProviderIDsPending bool
	// ShortLeases means that every kube-controller-manager has to run with timings that are safe next to a
	// cloud-controller-manager with short leases, which comes next.
	ShortLeases bool
	// NodesOnly means that nothing is looked at but whether the control planes are
	// ready: no stage begins or ends without them.
	NodesOnly bool
}

// Holder is who has to hold the migration lease.
type Holder int

// Anyone is for a lease that no one has to hold. Either is for one that one of the two
// managers has to hold, Remaining for one that the cloud-controller-manager has to hold
// for as long as it takes part in the migration.
const (
	Anyone Holder = iota
	KubeManager
	Either
	CloudManager
	Remaining
)

// Needed reports whether someone has to hold the lease, whatever the managers' flags.
func (h Holder) Needed() bool { return h == KubeManager || h == Either || h == CloudManager }

// VerifyCommand are the words of the command that checks what has to hold after a stage; "" for what always has
// to hold.
func VerifyCommand(stage string, t transform.Target, flags ...string) []string {
	return slices.Concat([]string{"rke-lm", "verify"},
		lists.If(stage != "", "--stage", stage),
		lists.If(t.KeepLeaderMigration, "--keep-leader-migration"),
		lists.If(After(stage, t).ShortLeases, "--short-leases"),
		lists.If(t.NoLeaderMigration, "--no-leader-migration"), flags)
}

// After is what has to hold after a stage; "" for what always has to hold.
func After(stage string, t transform.Target) Check {
	if s := Named(stage); s.after != nil {
		return s.after(t)
	}
	return Check{ProviderIDsPending: !t.Situation.HasInTreeProvider()}
}

// Late is what has to hold after a stage of a cluster that has no in-tree provider any more;
// nil where that does not differ. What always has to hold does not: a finished migration
// leaves no Node without a provider ID.
func Late(stage string) *Check {
	if stage != InstallCCM && stage != SwitchToExternal {
		return nil
	}
	c := After(stage, transform.Target{}.In(transform.External))
	return &c
}

// Gated reports whether verify --stage checks exactly what has to hold after a stage of a
// plan: it knows the choices, and of the situation only what the cluster shows.
func Gated(stage string, t transform.Target) bool {
	after := After(stage, t)
	if late := Late(stage); late != nil && !t.Situation.HasInTreeProvider() {
		return after == *late
	}
	return after == After(stage, transform.Target{KeepLeaderMigration: t.KeepLeaderMigration, NoLeaderMigration: t.NoLeaderMigration, ShortLeases: t.ShortLeases})
}

// Before is what has to hold before a stage changes anything: what holds after the one
// before it.
func Before(stage string, t transform.Target) Check {
	list := order(t)
	i := indexOf(list, stage)
	if i <= 0 {
		return After("", t)
	}
	return list[i-1].after(t)
}

// Previous is the stage with edits before another one; "" for none. After an undo verify checks it.
func Previous(stage string, t transform.Target) (name string) {
	for _, s := range order(t) {
		switch {
		case s.Name == stage:
			return name
		case s.Edits:
			name = s.Name
		}
	}
	return ""
}

// Undone is what has to hold once a stage was undone.
func Undone(stage string, t transform.Target) Check {
	if s := Named(stage); s.undone != nil {
		return s.undone(t)
	}
	return Check{}
}

// Within reports whether a stage that managers show lies within the bounds of a check;
// below reports on which side it does not.
func (c Check) Within(shown string) (within, below bool) {
	names := Names()
	at := slices.Index(names, shown) // -1 for none
	below = c.AtLeast != "" && at < slices.Index(names, c.AtLeast)
	return !below && (c.AtMost == "" || at <= slices.Index(names, c.AtMost)), below
}

// runsAlone is what has to hold as soon as a cloud-controller-manager runs in a cluster
// that has no other manager of the cloud controllers. Each stage is checked as the last one
// is, but for the Nodes.
func runsAlone() Check {
	c := verification.after(transform.Target{})
	c.ProviderIDsPending = true
	return c
}

// backTo is what has to hold after a stage whose successor was undone.
func backTo(c Check) Check {
	c.AtLeast, c.AtMost = "", c.Stage
	return c
}

// String names who has to hold the migration lease.
func (h Holder) String() string {
	switch h {
	case KubeManager:
		return leadermigration.Manager
	case CloudManager, Remaining:
		return leadermigration.CloudManager
	case Either:
		return leadermigration.Manager + " or " + leadermigration.CloudManager
	}
	return ""
}

// shows reports what a check requires of the migration lease.
func (h Holder) shows() string {
	switch h {
	case Either:
		return h.String() + " holds the migration lease: both take part in the migration, and no manager releases the lease"
	case Remaining:
		return h.String() + " holds the migration lease, or it is not renewed any more because leader migration is disabled"
	}
	return h.String() + " holds the migration lease"
}

// held shows who holds the migration lease, if there is one.
func (c Migration) held(by Holder) []action.Action { return c.lease(by.shows()) }

// lease shows the migration lease, if there is one, for what a check requires of it.
func (c Migration) lease(shows string) []action.Action {
	return lists.If(!c.Target.NoLeaderMigration, leases(shows, c.Target.Lease()))
}

func leases(shows, lease string) action.Action {
	return action.Leases(leadermigration.Namespace, lease, shows)
}

// MayLock asks whether a user may lock the migration lease.
func (c Migration) MayLock(user string) action.Action {
	return action.MayUpdate(leadermigration.Namespace, c.Target.Lease(), user)
}

// Rollout waits for the pods of the cloud-controller-manager's chart.
func Rollout(why string) action.Action {
	return action.RolledOut(leadermigration.Namespace, "daemonset", ccm.ChartName, why)
}

// FirstRollout waits for the first of them.
func FirstRollout(when string) action.Action {
	return Rollout(when + "wait for a pod on every control plane; the rollout of a DaemonSet without pods also succeeds, so check DESIRED")
}

// managerRuns shows whether a cloud-controller-manager runs on every control plane.
func (c Migration) managerRuns() action.Action {
	if c.Selector == "" {
		return pods("a pod must run on every control-plane node")
	}
	return action.OnEveryNode(c.Selector, leadermigration.Namespace, ccm.ChartName, "DESIRED, READY and UP-TO-DATE must equal the number of listed nodes, and not be 0")
}

func pods(why string) action.Action {
	return action.PodsRunning(leadermigration.Namespace, leadermigration.CloudManager, why)
}

// Managers is what the managers of a cluster show.
type Managers struct {
	Granted   bool // kube-controller-manager may lock the migration lease
	Flag      bool // it takes part in the migration
	External  bool // it runs no cloud controllers
	Cloud     bool // a cloud-controller-manager is there
	CloudFlag bool // which takes part in the migration
}

// Reached returns the last stage whose result managers show; "" for none.
func Reached(m Managers) string {
	for _, s := range slices.Backward(ordered()) {
		if s.shown != nil && s.shown(m) {
			return s.Name
		}
	}
	return ""
}

// Observed is what a cluster shows of stages that its document says nothing of.
type Observed struct {
	Switched bool // the document has the external provider
	Marked   bool // a Node has the mark of the run
	Cloud    bool // a DaemonSet of the cloud-controller-manager is there
	Migrates bool // a cloud-controller-manager takes part in the migration
	// Identified means that every Node has a provider ID of AWS.
	Identified bool
	// Helm means that the stage brings a chart with helm; Installed that its values run,
	// and Finished that they have left the migration.
	Helm, Installed, Finished bool
}

// Past reports whether a stage of actions alone was done, as the cluster shows it.
func Past(stage string, seen Observed) bool {
	s := Named(stage)
	return s.past != nil && s.past(seen)
}

// Undoable reports whether anything of a stage of actions alone is on the cluster.
func Undoable(stage string, seen Observed) bool {
	s := Named(stage)
	return s.undo == nil || s.undo(seen)
}
