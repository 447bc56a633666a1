// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"cmp"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// enableLeaderMigration gives kube-controller-manager the flag.
func (m *migration) enableLeaderMigration() transform.Stage {
	return m.stages().Enable(transform.Stage{
		Why:       stages.Also(m.configured(), " A LeaderMigrationConfiguration, in a folder that RKE mounts, lists these controllers.") + " RKE restarts it on one control plane after the other.",
		Change:    transform.ChangeOf(m.Doc, m.target, m.enableEdit, m.checkEnable, m.enableUndo),
		Skipped:   func() bool { return m.neverGranted() && !m.migrates() && (m.file == nil || !m.file.Migrates()) },
		Before:    lists.If(m.configured(), action.PlaceFile(leadermigration.ConfigFile, managerConfig, "before the edit, on every control-plane node: kube-controller-manager exits without the file; plan --out writes it")),
		After:     []action.Action{m.taken()},
		Files:     m.enableFiles,
		UndoAfter: []action.Action{m.taken()},
	})
}

func (m *migration) enableEdit(e *yamledit.Edit) {
	if m.isExternal() || m.migrates() && !m.lacksConfig() && len(m.timings()) == 0 {
		return // nothing puts the flag on an external manager
	}
	m.setFlag(e)
}

// setFlag switches the flag on, and names the configuration. Arguments that may be
// repeated come last and win, so the flag is set in them where they have it.
func (m *migration) setFlag(e *yamledit.Edit) {
	set := m.leaderArgs()
	if repeated := m.get(servicesKey, manager, argsArrayKey); repeated.Get(leaderFlag).Exists() {
		args.Update{Set: set[:1]}.ApplyMap(e, repeated)
		set = set[1:]
	}
	if own := m.get(servicesKey, manager, argsKey); own.IsMap() || len(set) == 0 {
		args.Update{Set: set}.ApplyMap(e, own)
		return
	}
	fresh := lists.Map(set, func(a args.Arg) yamledit.Pair { return yamledit.Pair{Key: a.Name, Value: a.Value} })
	m.put(e, yamledit.Map(fresh), servicesKey, manager, argsKey)
}

// The paths of the manager's flags in what RKE reads.
const (
	argsPath  = "services.kubeController.extraArgs."
	arrayPath = "services.kubeController.extraArgsArray."
)

func (m *migration) checkEnable(after *migration) error {
	gained := func(path string, before, now any) bool {
		timing := slices.ContainsFunc(m.timings(), func(a args.Arg) bool { return path == argsPath+a.Name && before == nil && now == a.Value })
		return path == argsPath+leaderFlag || path == arrayPath+leaderFlag || timing || path == argsPath+configFlag && m.configured() && before == nil && now == managerConfig
	}
	return cmp.Or(m.check(after, gained),
		transform.Require(after.migrates(), "kube-controller-manager would not get %s", leaderFlag),
		transform.Require(len(after.timings()) == 0, "kube-controller-manager would not get the timings of short leases"),
		transform.Require(!after.lacksConfig(), "kube-controller-manager would not get %s", configFlag))
}

// enableUndo takes the flag off the manager. An external manager has none: there
// the switch is undone first.
func (m *migration) enableUndo(e *transform.Reverse) {
	if m.isExternal() || !m.migrates() {
		return
	}
	if n := m.get(servicesKey, manager, argsArrayKey).Get(leaderFlag); n.Exists() {
		e.Fail(transform.Lost(n, leaderFlag+" differs from what rke-lm writes, so it existed before"))
	}
	at := m.get(servicesKey, manager, argsKey)
	flag := at.Get(leaderFlag)
	if text, _ := flag.String(); text != "true" {
		e.Fail(transform.Lost(flag, leaderFlag+" differs from what rke-lm writes, so it existed before"))
	}
	names := m.leaving()
	m.removeFlags(e.Edit, names)
	if at.Len() <= len(names) {
		e.Usual(at, "it has no other argument, and was absent, empty or null before")
	}
}

// removeFlags takes flags off the manager, and with them the mappings that hold
// nothing else, up to the services. A mapping with comments stays, empty, and so do
// those of an object that Rancher's types always write.
func (m *migration) removeFlags(e *yamledit.Edit, names []string) {
	for _, key := range []string{argsKey, argsArrayKey} {
		at := m.get(servicesKey, manager, key)
		removed := lists.Where(lists.Map(names, func(name string) yamledit.Node { return at.Get(name) }), yamledit.Node.Exists)
		if len(removed) > 0 && len(removed) == at.Len() {
			removed = m.emptied(at, removed)
		}
		for _, n := range removed {
			e.Remove(n)
		}
	}
}

// emptied returns what goes with all entries of a mapping.
func (m *migration) emptied(at yamledit.Node, removed []yamledit.Node) []yamledit.Node {
	for !at.Same(m.Config) && len(at.Comments()) == 0 {
		removed = []yamledit.Node{at}
		if isObject(m.Doc) {
			break // Rancher writes services and each of them, empty or not
		}
		if at = at.Parent(); at.Len() > 1 {
			break
		}
	}
	return removed
}
