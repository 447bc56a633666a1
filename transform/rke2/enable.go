// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const manifestKey = "additionalManifest"

// Bundle holds the manifests that RKE2 applies on control planes without a
// restart.
func (m *migration) Bundle() leadermigration.Bundle {
	return leadermigration.Bundle{Holder: m.RKEConfig(), Key: manifestKey, Lease: m.Target.Lease()}
}

// grantMigrationLease adds a Role and RoleBinding for the migration lease to
// additionalManifest.
func (m *migration) grantMigrationLease() transform.Stage {
	return m.Grant(transform.Stage{
		Change:    transform.ChangeOf(m.Doc, m.Target, m.grantEdit, m.checkGrant, m.Bundle().Revoke),
		Skipped:   m.neverGranted,
		UndoAfter: []action.Action{action.AllRemoved(leadermigration.Namespace, "role,rolebinding", m.Target.Lease())},
	})
}

// neverGranted reports whether the switch has begun and the file has no permission on the lease.
func (m *migration) neverGranted() bool { return m.switching() && !m.Bundle().Grants() }

func (m *migration) grantEdit(e *yamledit.Edit) {
	if !m.switching() {
		m.Bundle().Grant(e)
	}
}

// checkGrant requires that no machine is configured differently and that the
// lease can be locked.
func (m *migration) checkGrant(after *migration) error {
	return cmp.Or(m.check(after, unchanged), after.Bundle().CheckGrant())
}

const (
	managerArgs = "kube-controller-manager-arg"
	leaderFlag  = "enable-leader-migration"
	selectorKey = "machineSelectorConfig"
)

// enableLeaderMigration gives every control plane's kube-controller-manager the
// flag and keeps all its other arguments: the published edit replaces them.
func (m *migration) enableLeaderMigration() transform.Stage {
	return m.Enable(transform.Stage{
		Why:       stages.Also(m.configured(), " A LeaderMigrationConfiguration lists these controllers; Rancher writes it to the control planes from a ConfigMap in its own cluster.") + m.restarts(),
		Before:    lists.If(m.suppliesConfig(), action.ApplyConfigMap(configMapFile, m.Namespace, m.Name+configSuffix)),
		Files:     m.enableFiles,
		Change:    transform.ChangeOf(m.Doc, m.Target, m.enableEdit, m.checkEnable, m.enableUndo),
		Skipped:   func() bool { return m.neverGranted() && !m.showsLeaderMigration() },
		Verify:    []action.Action{m.settled()},
		UndoAfter: []action.Action{m.settled()},
	})
}

// restarts names the pure etcd classes that get the argument too: those for which an edited
// location wins.
func (m *migration) restarts() string {
	edited := slices.DeleteFunc(m.managerLocations(), func(l effective.Layer) bool { return len(m.missingArgs(args.Of(l.Get(managerArgs).Value()))) == 0 })
	names := m.namesOf(func(c effective.Class) bool {
		return c.Server() && !c.ControlPlane() && slices.ContainsFunc(edited, func(l effective.Layer) bool { return l.Get(managerArgs).Same(m.Winner(c, managerArgs)) })
	})
	if len(names) == 0 {
		return ""
	}
	return " The argument also reaches etcd machines (" + strings.Join(names, ", ") + "): it does nothing there, but rke2-server restarts."
}

// managerLocations returns the layers that define the manager's arguments and
// can match a control plane.
func (m *migration) managerLocations() []effective.Layer {
	matched := m.Matched(effective.Class.ControlPlane)
	return lists.Where(m.LayersWith(managerArgs), func(l effective.Layer) bool { return matched[l.Index] })
}

func (m *migration) enableEdit(e *yamledit.Edit) {
	if m.switching() {
		return
	}
	for _, l := range m.managerLocations() {
		at := l.Get(managerArgs)
		args.Update{Set: m.missingArgs(args.Of(at.Value()))}.Apply(e, at)
	}
	if slices.ContainsFunc(m.Kinds, m.lacksLocation) {
		m.insertEntry(e)
	}
	m.deliverConfig(e)
}

// lacksLocation reports whether nothing defines the manager's arguments for a
// class of control planes.
func (m *migration) lacksLocation(c effective.Class) bool {
	return c.ControlPlane() && !m.Winner(c, managerArgs).Exists()
}

// insertEntry adds an entry for control planes in front of all others, so that
// it never overrides what is there. A cluster whose every entry has a selector
// crashes the interface of Rancher 2.7 and 2.8 (rancher/dashboard #9888), so one
// without a selector is added as well.
func (m *migration) insertEntry(e *yamledit.Edit) {
	entry := controlPlaneEntry(m.missingArgs(nil))
	entries := m.RKEConfig().Get(selectorKey)
	if entries.Len() == 0 {
		e.Put(m.RKEConfig(), []any{entry, plainEntry}, selectorKey)
		return
	}
	e.InsertItem(entries, 0, entry)
	if m.lacksPlainEntry() {
		e.Append(entries, plainEntry)
	}
}

// controlPlaneEntry returns an entry of machineSelectorConfig that gives control planes the manager's arguments.
func controlPlaneEntry(list []args.Arg) yamledit.Map {
	return yamledit.Map{{Key: "config", Value: yamledit.Map{{Key: managerArgs, Value: args.Texts(list)}}}, onControlPlanes()}
}

// onControlPlanes is the selector of an entry for control planes.
func onControlPlanes() yamledit.Pair {
	expression := yamledit.Map{{Key: "key", Value: effective.LabelControlPlane}, {Key: "operator", Value: "In"}, {Key: "values", Value: []string{"true"}}}
	return yamledit.Pair{Key: selectorField, Value: yamledit.Map{{Key: expressionsField, Value: []any{expression}}}}
}

// checkEnable requires that control planes have all the arguments they had plus
// the flag, and their configuration where they get one, and that elsewhere at most
// these were added.
func (m *migration) checkEnable(after *migration) error {
	gained := func(c effective.Class, key string, before, now any) bool {
		list := args.Of(now)
		gained := args.Names(m.missingArgs(args.Of(before)))
		return key == managerArgs && args.Enables(list, leaderFlag) && sameArgs(args.Without(args.Of(before), gained...), args.Without(list, gained...))
	}
	migrates := func(c effective.Config) bool {
		list := args.Of(c[managerArgs].Value)
		return args.Enables(list, leaderFlag) && (args.Has(list, configFlag) || !after.configured()) && len(after.timings(list)) == 0
	}
	return cmp.Or(m.check(after, gained),
		transform.Require(!after.configured() || !slices.ContainsFunc(after.Classes, after.lacksConfig), "control planes would not get the file %s", managerConfig),
		after.checkControlPlanes(managerArgs+" with "+leaderFlag, migrates))
}

// sameArgs compares arguments as they are written, in their order.
func sameArgs(a, b []args.Arg) bool { return slices.Equal(args.Texts(a), args.Texts(b)) }

// enableUndo removes the flag of the manager wherever it is. An external
// manager has none: there the switch is undone first.
func (m *migration) enableUndo(e *transform.Reverse) {
	if m.isExternal() {
		return
	}
	for _, l := range m.managerLocations() {
		switch {
		case !args.Enables(args.Of(l.Get(managerArgs).Value()), leaderFlag):
		case m.isInserted(l):
			m.removeEntry(e, l)
		default:
			m.removeFlag(e, l)
		}
	}
	m.withdrawConfig(e)
}

// isInserted reports whether a layer is the entry that insertEntry writes.
func (m *migration) isInserted(l effective.Layer) bool {
	inserted := controlPlaneEntry(m.appendedArgs(args.Of(l.Get(managerArgs).Value())))
	return !l.Global() && l.Entry.Index() == 0 && yamledit.Same(l.Entry.Value(), asRead(inserted))
}

// removeEntry removes the inserted entry, and the one without a selector that was
// added with it.
func (m *migration) removeEntry(e *transform.Reverse, l effective.Layer) {
	list, others := l.Entry.Parent(), m.Layers[2:]
	if !slices.ContainsFunc(others, func(o effective.Layer) bool { return !isPlain(o) }) && len(others) <= 1 {
		e.Remove(list)
		e.Usual(list, "it contains nothing else, and was absent, empty, or only the entry without a selector before")
		return
	}
	e.Remove(l.Entry)
	last := others[len(others)-1]
	if isPlain(last) && !slices.ContainsFunc(others[:len(others)-1], func(o effective.Layer) bool { return !o.Selective() }) {
		e.Remove(last.Entry)
		e.Usual(last.Entry, "the entry without a selector existed before or was added with the flag")
	}
}

// isPlain reports whether a layer is the entry {config: {}}.
func isPlain(l effective.Layer) bool {
	return l.Entry.Len() == 1 && l.Entry.Get("config").IsMap() && l.Config.Len() == 0
}

// removeFlag removes the flag, and the configuration that came with it, from a list
// in which they are last, as they were appended.
func (m *migration) removeFlag(e *transform.Reverse, l effective.Layer) {
	at := l.Get(managerArgs)
	list := args.Of(at.Value())
	appended := m.appendedArgs(list)
	if !at.IsList() || !isAppended(list, appended...) {
		e.Fail(transform.Lost(at, leaderFlag+" differs from what rke-lm writes, so it existed before"))
		return
	}
	names := args.Names(appended)
	args.Update{Remove: names}.Apply(e.Edit, at)
	switch len(args.Without(list, names...)) {
	case 0:
		e.Usual(at, "it has no other argument, and was an empty list, an empty string or null before")
	case 1:
		e.Usual(at, "it has one other argument, which was a string or a list before")
	}
}

// asRead turns what an edit writes into what Node.Value returns for it.
func asRead(v any) any {
	switch v := v.(type) {
	case yamledit.Map:
		out := make(map[string]any, len(v))
		for _, p := range v {
			out[p.Key] = asRead(p.Value)
		}
		return out
	case []string:
		return lists.Map(v, func(s string) any { return s })
	case []any:
		return lists.Map(v, asRead)
	}
	return v
}

// disableLeaderMigration takes the flag off the chart and moves the image to the
// cluster's minor. The right to the lease stays: a rollback needs it.
func (m *migration) disableLeaderMigration() transform.Stage {
	s := transform.Stage{
		Why:       m.disableWhy(),
		Change:    transform.ChangeOf(m.Doc, m.Target, m.disableEdit, m.checkDisable, m.disableUndo),
		Early:     func() bool { return !m.isExternal() || m.lacksManager() },
		NotInFile: m.lacksManager,
	}
	if m.lacksManager() {
		return s
	}
	s.After = []action.Action{stages.Rollout("after the edit, wait for the new pods")}
	s.UndoAfter = []action.Action{stages.Rollout("wait for the new pods")}
	return m.Disable(s)
}

func (m *migration) disableWhy() string {
	switch {
	case m.lacksManager():
		return stages.DisableNotInFile
	case !m.configured():
		return m.DisableWhy()
	}
	return m.DisableWhy() + " The configuration leaves the chart as well."
}

func (m *migration) disableEdit(e *yamledit.Edit) {
	ed, chart, found := m.editChart(e)
	if found {
		chart.StopMigrating(ed, m.finalTag(chart), m.Target.KeepLeaderMigration)
	} else if !m.Target.KeepLeaderMigration {
		m.editWorkload(e, false)
	}
}

// finalTag returns the image tag that the chart has to have at the end, or "".
func (m *migration) finalTag(chart ccm.Chart) string {
	return chart.FinalTag(m.Target, Name, m.minor())
}

func (m *migration) checkDisable(after *migration) error {
	chart, _, err := after.chart()
	if err := cmp.Or(m.check(after, unchanged), err); err != nil || m.Target.KeepLeaderMigration {
		return err
	}
	w, _ := after.workload()
	return cmp.Or(checkWorkload(w, false), chart.CheckLeft())
}

// disableUndo gives the chart its flag back. The image stays: it is the one of the
// cluster's minor.
func (m *migration) disableUndo(e *transform.Reverse) {
	ed, chart, found := m.editChart(e.Edit)
	if !m.isExternal() || chart.Migrates() && !m.Target.KeepLeaderMigration {
		return
	}
	if k8s.From(m.Version, afterMigrations) {
		e.Fail(transform.Lost(m.move().At, "at Kubernetes "+m.minor()[1:]+" no manager takes part in a migration, so the stage changed the image alone, and the file does not show its earlier tag"))
	}
	switch {
	case !found && m.Target.KeepLeaderMigration:
		return
	case !found:
		m.undoWorkload(e, true)
		return
	}
	o := m.chartOptions()
	o.CloudConfig = args.Has(chart.Args(), "cloud-config") // the switch took it off the file
	if m.Target.Version == m.Version || !m.installed(chart, o) {
		e.Usual(chart.Root, "the image was this one or that of another release, and the flag was at an unknown place among the arguments")
	}
	if chart.Migrates() {
		return // it was to keep the flag
	}
	m.completeConfig(ed, chart)
	chart.StartMigrating(ed, o)
}
