// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// switchToExternal makes the provider external where it is won, keeps RKE2's
// stub cloud controller off, and takes the flag off the manager in the same
// edit: an external manager with the flag holds the lease and runs nothing.
func (m *migration) switchToExternal() transform.Stage {
	why, noGap := m.switchWhy()
	return m.Switch(transform.Stage{
		NoGap: noGap,
		Why: why +
			"disable-cloud-controller keeps RKE2's stub from registering nodes as rke2://." +
			stages.Also(m.endState() == transform.EndStateOverride, " The name of the provider stays aws, because it sets the names of the nodes; an argument makes each component external.") +
			m.removedWhy() + m.move().Why(),
		Prepare:   m.credentials(),
		Change:    transform.ChangeOf(m.Doc, m.Target, m.switchEdit, m.checkSwitch, m.switchUndo),
		After:     []action.Action{m.settled()},
		Caution:   m.move().Caution(),
		UndoAfter: []action.Action{m.settled()},
	})
}

func (m *migration) credentials() action.Preparation {
	set := slices.ContainsFunc(m.Kinds, func(c effective.Class) bool {
		return m.Effective(c)["image-credential-provider-config"].Value != nil
	})
	const folder = "/var/lib/rancher/credentialprovider"
	return stages.Credentials(m.move(), set, aws.Place{Config: folder + "/config.yaml", Folder: folder + "/bin"})
}

// switchWhy reports what the switch takes away: a provider, or only a name.
func (m *migration) switchWhy() (why string, noGap bool) {
	if m.onlyNamesNodes() && !m.isExternal() {
		return m.nameOnlyWhy(), false
	}
	why, noGap = m.SwitchWhy(m.isExternal() && len(m.inTreeNodes()) == 0, transform.EditOf(m.Doc, m.switchEdit))
	return why, noGap && !m.anyControlPlane(func(c effective.Config) bool { return args.Has(args.Of(c[managerArgs].Value), leaderFlag) })
}

// removedWhy names the flags that the edit removes.
func (m *migration) removedWhy() string {
	removed := m.removedArgs()
	if len(removed) == 0 {
		return ""
	}
	return " The edit removes " + removed[0].Name + " from kube-apiserver-arg: kube-apiserver 1.33 and later do not have it, and do not start with it."
}

func (m *migration) switchEdit(e *yamledit.Edit) {
	m.disableStub(e)
	if m.endState() == transform.EndStateExternal {
		m.switchProvider(e)
	}
	var fresh yamledit.Map
	for _, key := range componentArgs {
		m.switchComponent(e, key)
		if m.lacksOverride(key) {
			fresh = append(fresh, yamledit.Pair{Key: key, Value: []string{componentFlag + "=" + external}})
		}
	}
	m.insertGlobal(e, fresh)
	if m.carriesCloudConfig() {
		m.removeCloudConfig(e)
	}
	m.move().Queue(e)
}

// switchProvider edits the locations that win, wherever they are.
func (m *migration) switchProvider(e *yamledit.Edit) {
	for _, n := range m.Winners(providerKey, anyClass) {
		if s := n.StringAt(); s != inTree {
			continue
		}
		e.Set(n, external)
		if m.keepsNamesAsExternal() && !n.Parent().Get(nodeNameKey).Exists() {
			e.InsertAfter(n, nodeNameKey, true)
		}
	}
}

// disableStub writes disable-cloud-controller next to the provider's name for
// every server that does not have it.
func (m *migration) disableStub(e *yamledit.Edit) {
	for _, n := range m.Winners(disableStub, effective.Class.Server) {
		if kept, ok := m.Release.Keep(true, disableStub, n.Value()); !ok || !truthy(kept) {
			e.Set(n, true)
		}
	}
	without := func(c effective.Class) bool { return c.Server() && !m.Winner(c, disableStub).Exists() }
	for _, n := range m.Winners(providerKey, without) {
		e.InsertAfter(n, disableStub, true)
	}
}

// switchComponent brings the arguments of one component to the end state: an
// in-tree provider among them would win over the cluster's, and the override
// needs an external one everywhere. The manager's flag goes as well.
func (m *migration) switchComponent(e *yamledit.Edit, key string) {
	override, matters := m.takesOverride(key), m.Matched(func(c effective.Class) bool { return c.Runs(key) })
	for _, l := range m.LayersWith(key) {
		var u args.Update
		list, leaving := args.Of(l.Get(key).Value()), m.removedFlags(key)
		if (args.Value(list, componentFlag) == inTree && len(leaving) == 0) || (override && matters[l.Index]) {
			u.Set = []args.Arg{args.With(componentFlag, external)}
		}
		if key == managerArgs {
			leaving = m.leaderFlags(list)
		}
		m.removeArgs(e, l, key, leaving, u)
	}
}

// takesOverride reports whether a component gets a provider of its own.
func (m *migration) takesOverride(key string) bool {
	return m.endState() == transform.EndStateOverride && len(m.removedFlags(key)) == 0
}

// lacksOverride reports whether it does, and nothing sets its arguments on some
// machines that run it.
func (m *migration) lacksOverride(key string) bool {
	return m.takesOverride(key) && slices.ContainsFunc(m.Kinds, func(c effective.Class) bool { return c.Runs(key) && !m.Winner(c, key).Exists() })
}

// insertGlobal adds lists to machineGlobalConfig. They reach only machines for
// which no other location sets the key, and let Rancher's webhook add its own
// arguments to kube-apiserver-arg there (PSACT).
func (m *migration) insertGlobal(e *yamledit.Edit, fresh yamledit.Map) {
	switch at := m.RKEConfig().Get("machineGlobalConfig"); {
	case len(fresh) == 0:
	case at.IsMap():
		for _, p := range fresh {
			e.Insert(at, p.Key, p.Value)
		}
	default:
		e.Put(m.RKEConfig(), fresh, "machineGlobalConfig")
	}
}

// removeArgs takes flags out of one location of a component's arguments. A list that held
// nothing else goes as a whole, and so does the entry that enableLeaderMigration inserts. What has
// comments is someone's own and stays, empty, and so does a list without which
// an earlier value would come back into force.
func (m *migration) removeArgs(e *yamledit.Edit, l effective.Layer, key string, flags []string, u args.Update) {
	at := l.Get(key)
	list := args.Of(at.Value())
	rest := args.Without(list, flags...)
	switch goes := len(list) > 0 && len(rest)+len(u.Set) == 0 && !m.hides(l, key); {
	case goes && key == managerArgs && m.isInserted(l) && len(l.Entry.Comments()) == 0:
		e.Remove(l.Entry)
	case goes && len(at.Comments()) == 0:
		e.Remove(at)
	case len(rest) < len(list) || len(u.Set) > 0:
		u.Remove = flags
		u.Apply(e, at)
	}
}

// hides reports whether a location overrides an earlier one for any class.
func (m *migration) hides(l effective.Layer, key string) bool {
	return slices.ContainsFunc(m.Kinds, func(c effective.Class) bool {
		return l.Matches(c) && !m.Candidates(c, key)[0].Same(l.Get(key))
	})
}

// checkSwitch requires, for every class: the components are external, the stub
// is off, the flag is gone, and nothing else changed.
func (m *migration) checkSwitch(after *migration) error {
	class, keeps := lists.Find(after.Kinds, func(c effective.Class) bool { return after.Effective(c).Provider(kubeletArgs) != external })
	return cmp.Or(m.check(after, m.switched),
		transform.Require(!keeps || m.endState() != transform.EndStateOverride, "the kubelet on machines of class %s would not be external", class.Name),
		after.checkControlPlanes("kube-apiserver without the flags that it lost", func(c effective.Config) bool {
			list := args.Of(c[apiServerArgs].Value)
			return len(args.Without(list, after.removedFlags(apiServerArgs)...)) == len(list)
		}), after.checkControlPlanes("an external provider, "+disableStub+": true and no "+leaderFlag, func(c effective.Config) bool {
			list := args.Of(c[managerArgs].Value)
			return len(args.Without(list, after.leaderFlags(list)...)) == len(list) && truthy(c[disableStub].Value) && !slices.ContainsFunc(componentArgs, func(key string) bool {
				return c.Provider(key) == inTree && after.knowsProvider(key)
			})
		}))
}

// switched is the promise of the stage.
func (m *migration) switched(class effective.Class, key string, before, now any) bool {
	switch {
	case key == providerKey:
		return before == inTree && now == external
	case key == disableStub:
		return class.Server() && truthy(now)
	case key == nodeNameKey:
		return truthy(now) && m.keepsNamesAsExternal()
	case key == cloudConfigKey:
		return now == nil && m.carriesCloudConfig()
	case len(m.removedFlags(key)) > 0:
		return sameArgs(args.Without(args.Of(before), m.removedFlags(key)...), args.Of(now))
	case slices.Contains(componentArgs, key):
		return componentSwitched(args.Without(args.Of(before), m.leaderFlags(args.Of(before))...), args.Of(now))
	}
	return false
}

// componentSwitched allows a component's provider to become external, and
// nothing else.
func componentSwitched(before, now []args.Arg) bool {
	_, had := args.Last(before, componentFlag)
	a, has := args.Last(now, componentFlag)
	if had && !has || has && a.Value != external {
		return sameArgs(before, now)
	}
	return sameArgs(args.Without(before, componentFlag), args.Without(now, componentFlag))
}

// checkControlPlanes requires something of every class of control planes.
func (m *migration) checkControlPlanes(what string, ok func(effective.Config) bool) error {
	class, lacks := lists.Find(m.ControlPlanes, func(c effective.Class) bool { return !ok(m.Effective(c)) })
	return transform.Require(!lacks, "machines of class %s would not get %s", class.Name, what)
}

// switchUndo makes the provider in-tree again and gives the manager its flag in
// the same edit: without the flag both managers would run the cloud controllers.
func (m *migration) switchUndo(e *transform.Reverse) {
	if !m.isExternal() {
		return
	}
	m.checkRollback(e)
	back, err := *m, error(nil)
	back.Target, err = m.Undone(e, m.RKEConfig())
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
	if !m.Target.NoLeaderMigration {
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
	if skewed := found && chart.ImageMinor() != "" && chart.ImageMinor() != m.minor(); skewed || m.Target.Version == m.Version {
		e.Usual(version, "the release before the switch was this one or an older one")
	}
	if !found {
		e.Fail(transform.Lost(m.RKEConfig(), "additionalManifest has no chart of the cloud-controller-manager, so the cluster was changed to external in another way"))
	}
	if !m.Target.NoLeaderMigration {
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
		if s := n.StringAt(); s != external {
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
	withFlag := key == managerArgs && !m.Target.NoLeaderMigration
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
