// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package stages holds what a stage of the migration means, in every format.
//
// Invariant: what a stage promises and what has to hold before it, after it and after its
// undo is written once. The commands of a runbook, the waiting of migrate and rollback, and the
// verdict of verify all follow from the same Check.
package stages

import (
	"slices"
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Stage is what a stage means in every format.
type Stage struct {
	Name string
	// Edits reports whether it edits a document, in any format.
	Edits bool
	// Leader is what runs the cloud controllers after it.
	Leader string
	// Machines is what it changes of machines.
	Machines Machines
	// With is the stage that it is made together with where leader migration is not used.
	With string
	// Snapshot asks for a snapshot of etcd of its own, where the operator wants any.
	Snapshot bool
	// ChecksAlone means that a run looks at the cluster and changes nothing.
	ChecksAlone bool

	// conditional means that only the cluster shows whether it has anything to do.
	conditional bool
	// long means that it is there with leader migration alone.
	long bool
	// late means that it is there only where no in-tree manager exists any more.
	late bool
	// upgrades means that it is there only in the plan of an upgrade.
	upgrades bool
	// gap is for how long no one runs the cloud controllers while it rolls out with the default timings of leases, shortGap
	// with short leases, where that was measured; waits are the timings of the candidate that decide, and takeovers is how
	// often the lease may be acquired.
	gap, shortGap transform.Span
	waits         func(Migration) leadermigration.Timings
	takeovers     int
	// undoGap is for how long no one runs the cloud controllers while it is undone, and undoGapEnds what ends that;
	// noUndoGap is why there is no such time.
	undoGap, shortUndoGap  transform.Span
	undoGapEnds, noUndoGap string
	// after is what has to hold after it, undone what has to hold once it was undone.
	after, undone func(transform.Target) Check
	// byPods means that only the arguments of the managers' pods show its result.
	byPods bool
	// shown reports whether managers show its result; nil where none ever does.
	shown func(Managers) bool
	// past reports whether a cluster shows that it was done, and undo whether there is
	// anything to undo. They are for a stage of actions alone: no document shows it.
	// nil is for never, and for always.
	past, undo func(Observed) bool
}

// ordered returns all stages, which no one may change. This list is the architecture.
var ordered = sync.OnceValue(func() []*Stage {
	return []*Stage{&grantLease, &enableMigration, &installManager, &cordonNodes, &switchProvider, &uncordonNodes, &disableMigration, &identifyNodes, &verification, &upgradeKubernetes, &upgradeManager}
})

// Set is what a format makes of the stages for one cluster.
type Set struct {
	Grant, Enable, Install, Cordon, Switch, Uncordon, Disable func() transform.Stage

	UpgradeKubernetes, UpgradeCCM func() transform.Stage // of an upgrade
}

// InOrder returns the stages of a cluster, by their names and in their order, without those that its format does not have.
func (c Migration) InOrder(set Set) []transform.Listed {
	of := map[string]func() transform.Stage{
		GrantMigrationLease: set.Grant, EnableLeaderMigration: set.Enable, InstallCCM: set.Install,
		CordonControlPlane: set.Cordon, SwitchToExternal: set.Switch, UncordonControlPlane: set.Uncordon, DisableLeaderMigration: set.Disable,
		SetProviderIDs: setProviderIDs, VerifyProviderIDs: c.verify,
		UpgradeKubernetes: set.UpgradeKubernetes, UpgradeCCM: set.UpgradeCCM,
	}
	has := lists.Where(order(c.Target), func(s *Stage) bool { return of[s.Name] != nil })
	return lists.Map(has, func(s *Stage) transform.Listed {
		return transform.List(s.Name, func() transform.Stage {
			own := of[s.Name]()
			own.Name = s.Name
			if !own.NoGap {
				own.Gap = c.gap(s)
			}
			own.Uncounted = own.Uncounted || s.ChecksAlone || s.conditional || Around(s.Name)
			return own
		})
	})
}

// order returns the stages of a choice, in the situation of a cluster.
func order(t transform.Target) []*Stage {
	return lists.Where(all(t), func(s *Stage) bool {
		return (s.upgrades == t.Upgrades() || s.ChecksAlone && t.Upgrades()) && !(s.long && t.NoLeaderMigration || s.late && t.Situation.HasInTreeProvider())
	})
}

// all returns all stages as they follow each other in a situation, which no one may change. A broken cluster may have
// control planes that still run the in-tree controllers, and they do not share a lease with anyone: the
// cloud-controller-manager starts once all of them are external.
func all(t transform.Target) []*Stage {
	list := ordered()
	if t.Situation.SwitchFirst() {
		list = slices.Clone(list)
		install, external := indexOf(list, InstallCCM), indexOf(list, SwitchToExternal)
		list[install], list[external] = list[external], list[install]
	}
	return list
}

// IsBefore reports whether a stage comes before another one in the situation of a cluster. A rule
// that checks the documents after the one does not ask for what the other one puts right.
func IsBefore(stage, other string, t transform.Target) bool {
	list := all(t)
	return stage != "" && indexOf(list, stage) < indexOf(list, other)
}

func indexOf(list []*Stage, name string) int {
	return slices.IndexFunc(list, func(s *Stage) bool { return s.Name == name })
}

// Named returns a stage; none for another name.
func Named(name string) Stage {
	s, has := lists.Find(ordered(), func(s *Stage) bool { return s.Name == name })
	if !has {
		return Stage{}
	}
	return *s
}

// Names lists all stages in their order. Those of a cluster are a subsequence of it.
func Names() []string { return where(func(*Stage) bool { return true }) }

// EditNames lists the stages that edit a document.
func EditNames() []string { return where(func(s *Stage) bool { return s.Edits }) }

// UndoNames lists those that can be undone: an upgrade cannot.
func UndoNames() []string { return where(func(s *Stage) bool { return s.Edits && !s.upgrades }) }

// ShownByPods lists the stages whose result only the arguments of the managers' pods show.
func ShownByPods() []string { return where(func(s *Stage) bool { return s.byPods }) }

// Where lists the stages after which something has to hold.
func Where(holds func(Check) bool) []string {
	return where(func(s *Stage) bool { return holds(s.after(transform.Target{})) })
}

func where(is func(*Stage) bool) []string {
	return lists.Map(lists.Where(ordered(), is), func(s *Stage) string { return s.Name })
}

// LeaderAfter reports who runs the cloud controllers after a stage; "" for before all. Where the components of a cluster do
// not start, the switch comes before the chart.
func LeaderAfter(stage string, t transform.Target) string {
	s, alone := Named(stage), !t.Situation.HasInTreeProvider()
	switch {
	case t.Upgrades():
		return atTheEnd
	case alone && (stage == "" || stage == SwitchToExternal && t.Situation.SwitchFirst()):
		return "no manager runs the cloud controllers"
	case alone && (stage == InstallCCM || stage == SwitchToExternal): // Nodes may have no provider ID of AWS yet
		return "the cloud-controller-manager runs the cloud controllers"
	case alone:
		return atTheEnd
	case s.Name == "":
		return "kube-controller-manager runs the cloud controllers, as before the migration"
	}
	return s.Leader
}

// Machines are the keys of a machine's configuration and the flags among its arguments
// that a stage changes.
type Machines struct{ Keys, Arguments, Flags []string }

// Promised is what any stage changes of machines: what the last one changes comes first.
func Promised() Machines {
	var m Machines
	for _, s := range slices.Backward(ordered()) {
		m.Keys = lists.Distinct(append(m.Keys, s.Machines.Keys...))
		m.Arguments = lists.Distinct(append(m.Arguments, s.Machines.Arguments...))
		m.Flags = lists.Distinct(append(m.Flags, s.Machines.Flags...))
	}
	return m
}

// Migration is what the migrations of all formats have: the choice, the managers, and the stage that rules check.
type Migration struct {
	Target transform.Target // what the operator chose, in the situation of the cluster
	// Selector matches the control planes, on which the DaemonSet of the chart runs; "" for
	// a cloud-controller-manager of another manifest.
	Selector string
	// Electors are the managers in the documents; nothing of documents that lint opened.
	Electors Electors
	// Stage is the one after which rules check the documents; "" for documents as they are.
	Stage string
}

// Chosen is that of transform.Cluster, for the formats that embed this.
func (c Migration) Chosen() transform.Target { return c.Target }

// Also is a sentence of the reason of a stage where it applies; "" otherwise.
func Also(applies bool, sentence string) string {
	if applies {
		return sentence
	}
	return ""
}

// InOtherDocument is a stage that happens in another document, or not at all.
func InOtherDocument(why string, inspect ...action.Action) transform.Stage {
	return transform.Stage{Why: why, After: inspect}
}
