// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// switchUndo makes the provider in-tree again and gives the manager its flag in
// the same edit: without the flag both managers would run the cloud controllers.
func (m *migration) switchUndo(e *transform.Reverse) {
	if !m.isExternal() {
		return
	}
	m.checkRollback(e)
	back, err := *m, error(nil)
	back.target, err = m.stages().Undone(e, m.RKEConfig())
	back.provideInTree(e)
	e.Fail(err)
}

// provideInTree queues the reverse of the switch.
func (m *migration) provideInTree(e *transform.Reverse) {
	m.enableStub(e.Edit)
	m.providerBack(e)
	for _, key := range componentArgs {
		m.componentBack(e, key)
	}
	if !m.target.NoLeaderMigration {
		if slices.ContainsFunc(m.Kinds, m.lacksLocation) {
			m.insertFlag(e.Edit)
		}
		m.deliverConfig(e.Edit)
	}
}

// checkRollback refuses an undo where there is none, or where the document does not hold
// what is needed for it.
func (m *migration) checkRollback(e *transform.Reverse) {
	version := m.Root.Get("spec", "kubernetesVersion")
	e.Fail(k8s.CheckRollback(m.Version, version))
	chart, found, err := m.chart()
	e.Fail(err)
	// The switch may have moved the release as well, and Rancher does not go back to an older one.
	if skewed := found && chart.ImageMinor() != "" && chart.ImageMinor() != m.minor(); skewed || m.target.Version == m.Version {
		e.Usual(version, "the release before the switch was this one or an older one")
	}
	if !found {
		e.Fail(transform.Lost(m.RKEConfig(), "additionalManifest has no chart of the cloud-controller-manager, so the cluster was changed to external in another way"))
	}
	if !m.target.NoLeaderMigration {
		e.Fail(m.Bundle().CheckGranted())
	}
	if m.carriesCloudConfig() && len(m.Winners(cloudConfigKey, effective.Class.ControlPlane)) == 0 {
		e.Fail(transform.Lost(m.RKEConfig(), cloudConfigKey+" was removed by the switch, and the file does not show where it was"))
	}
}

// enableStub removes disable-cloud-controller where it is as the switch
// writes it: next to the provider's name.
func (m *migration) enableStub(e *yamledit.Edit) {
	for _, n := range m.Winners(providerKey, effective.Class.Server) {
		stub := n.Parent().Get(disableStub)
		if stub.Exists() && stub.Text() == "true" && stub.Index() == placeAfter(n, stub) {
			e.Remove(stub)
		}
	}
}

// placeAfter returns the index that an entry has when it is inserted after
// another one.
func placeAfter(n, inserted yamledit.Node) int {
	others := lists.Where(n.Parent().Entries(), func(e yamledit.Entry) bool { return !e.Value.Same(inserted) })
	keys := lists.Map(others, func(e yamledit.Entry) string { return e.Key })
	if len(keys) >= 3 && slices.IsSorted(keys) {
		i, _ := slices.BinarySearch(keys, inserted.Key())
		return i
	}
	return slices.Index(keys, n.Key()) + 1
}

// providerBack edits the locations that win. The control planes were in-tree; what
// other machines were, the file does not show.
func (m *migration) providerBack(e *transform.Reverse) {
	certain := m.Winners(providerKey, effective.Class.ControlPlane)
	for _, n := range m.Winners(providerKey, anyClass) {
		if s, _ := n.String(); s != external {
			continue
		}
		e.Set(n, inTree)
		if !slices.ContainsFunc(certain, n.Same) {
			e.Usual(n, "no control plane reads it from here, and it was aws or already external before")
		}
	}
}

// componentBack takes away the overrides of one component, and gives the manager
// its flag.
func (m *migration) componentBack(e *transform.Reverse, key string) {
	withFlag := key == managerArgs && !m.target.NoLeaderMigration
	overridden, matters := m.isOverridden(), m.Matched(func(c effective.Class) bool { return c.Runs(key) })
	for _, l := range m.LayersWith(key) {
		at := l.Get(key)
		list := args.Of(at.Value())
		var u args.Update
		if a, found := args.Last(list, componentFlag); found && a.Value == external {
			if overridden && isAppended(list, args.With(componentFlag, external)) {
				u.Remove = []string{componentFlag}
			} else {
				u.Set = []args.Arg{args.With(componentFlag, inTree)}
				e.Usual(at, componentFlag+" is set separately, and it was aws or already external before")
			}
		}
		if withFlag && matters[l.Index] {
			u.Set = append(u.Set, m.missingArgs(list)...)
		}
		m.back(e, at, u, len(args.Without(list, componentFlag)))
	}
}

// isAppended reports whether flags are in a list as an edit appends them.
func isAppended(list []args.Arg, flags ...args.Arg) bool {
	rest := args.Without(list, args.Names(flags)...)
	appended := lists.Map(flags, func(f args.Arg) string { return args.Spelled(rest, f) })
	return slices.Equal(args.Texts(list), slices.Concat(args.Texts(rest), appended))
}

// back applies a change that leaves so many of the arguments that were there. A
// global list of nothing but the override goes as a whole.
func (m *migration) back(e *transform.Reverse, at yamledit.Node, u args.Update, left int) {
	switch {
	case len(u.Remove)+len(u.Set) == 0:
		return
	case len(u.Remove) == 0 || len(u.Set) > 0 || left > 1:
	case left == 1:
		e.Usual(at, "it has one other argument, which was a string or a list before")
	case at.Parent().Same(m.Layers[0].Config):
		e.Remove(at)
		e.Usual(at, "it has no other argument, and was absent or empty before")
		return
	default:
		e.Usual(at, "it has no other argument, and was an empty list, an empty string or null before")
	}
	u.Apply(e.Edit, at)
}

// insertFlag gives the flag to control planes that have no location for it: with
// an entry as enableLeaderMigration inserts it, whose companion without a
// selector the switch has left; without one, globally.
func (m *migration) insertFlag(e *yamledit.Edit) {
	if list := m.RKEConfig().Get(selectorKey); list.Len() > 0 {
		e.InsertItem(list, 0, controlPlaneEntry(m.missingArgs(nil)))
		return
	}
	m.insertGlobal(e, yamledit.Map{{Key: managerArgs, Value: args.Texts(m.missingArgs(nil))}})
}
