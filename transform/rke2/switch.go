// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	providerKey   = "cloud-provider-name"
	inTree        = "aws"
	external      = "external"
	disableStub   = "disable-cloud-controller"
	componentFlag = "cloud-provider"
)

// componentArgs are the arguments of the components that know a cloud provider
// of their own; what stands there wins over cloud-provider-name.
var componentArgs = []string{"kubelet-arg", "kube-apiserver-arg", managerArgs}

// switchToExternal makes the provider external where it is won, keeps RKE2's
// stub cloud controller off, and takes the flag off the manager in the same
// edit: an external manager with the flag holds the lease and runs nothing.
func (m *migration) switchToExternal() transform.Stage {
	return transform.Stage{
		Name: transform.SwitchToExternal,
		Why: "kube-controller-manager gives up the cloud controllers, and the waiting cloud-controller-manager takes the migration lease. " +
			"The flag leaves kube-controller-manager in the same edit: an external manager that keeps it holds the lease and runs nothing. " +
			"disable-cloud-controller keeps RKE2's stub from registering nodes as rke2://.",
		Edit:  m.switchEdit,
		Check: m.checkSwitch,
		Actions: []transform.Action{transform.RolloutDone{
			Namespace: "kube-system", DaemonSet: "aws-cloud-controller-manager",
			Why: "before the edit: the cloud-controller-manager must be there, with --enable-leader-migration=true, waiting for the lease",
		}},
	}
}

func (m *migration) switchEdit() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	m.switchProvider(e)
	m.disableStub(e)
	for _, l := range m.Layers {
		for _, key := range componentArgs {
			m.switchComponent(e, l.Get(key))
		}
		m.removeFlag(e, l)
	}
	return e, nil
}

// switchProvider edits the locations that win, wherever they stand.
func (m *migration) switchProvider(e *yamledit.Edit) {
	for _, n := range m.winners(providerKey, func(Class) bool { return true }) {
		if s, _ := n.String(); s == inTree {
			e.Set(n, external)
		}
	}
}

// winners returns the locations that win a key for any of the classes, in the
// order of the merge. What the filter drops afterwards wins all the same.
func (m *migration) winners(key string, of func(Class) bool) []yamledit.Node {
	var found []yamledit.Node
	for _, l := range m.Layers {
		n := l.Get(key)
		if n.Exists() && slices.ContainsFunc(m.Classes, func(c Class) bool { return of(c) && m.wins(l, key, c) }) {
			found = append(found, n)
		}
	}
	return found
}

// wins reports whether a layer is the last one that sets a key for a class.
func (m *migration) wins(layer Layer, key string, c Class) bool {
	all := m.Candidates(c, key)
	return len(all) > 0 && all[len(all)-1].Same(layer.Get(key))
}

// disableStub writes disable-cloud-controller beside the provider's name for
// every server that does not have it.
func (m *migration) disableStub(e *yamledit.Edit) {
	for _, n := range m.winners(disableStub, Class.Server) {
		if !truthy(n.Value()) {
			e.Set(n, true)
		}
	}
	without := func(c Class) bool { return c.Server() && len(m.Candidates(c, disableStub)) == 0 }
	for _, n := range m.winners(providerKey, without) {
		e.InsertAfter(n, disableStub, true)
	}
}

// truthy reads a boolean argument as RKE2's command line does.
func truthy(v any) bool {
	on, err := strconv.ParseBool(fmt.Sprint(v))
	return err == nil && on
}

// switchComponent makes an in-tree provider among a component's arguments
// external; it would win over cloud-provider-name.
func (m *migration) switchComponent(e *yamledit.Edit, at yamledit.Node) {
	if a, found := args.Last(args.Of(at.Value()), componentFlag); found && a.Value == inTree {
		args.Replace(e, at, componentFlag, external)
	}
}

// removeFlag takes the flag out of one location. A list that held nothing else
// goes as a whole, and so does an entry that held nothing but the list, unless
// an earlier value would come back into force: then it stays, empty.
func (m *migration) removeFlag(e *yamledit.Edit, l Layer) {
	at := l.Get(managerArgs)
	list := args.Of(at.Value())
	if _, on := args.Last(list, leaderFlag); !on {
		return
	}
	switch {
	case len(args.Without(list, leaderFlag)) > 0 || m.hides(l, managerArgs):
		args.Remove(e, at, leaderFlag)
	case l.onlyHolds(managerArgs):
		e.Remove(l.Entry)
	default:
		e.Remove(at)
	}
}

// hides reports whether a location overrides an earlier one for any class.
func (m *migration) hides(l Layer, key string) bool {
	return slices.ContainsFunc(m.Classes, func(c Class) bool {
		return l.Matches(c) && !m.Candidates(c, key)[0].Same(l.Get(key))
	})
}

// onlyHolds reports whether a layer is a selector's entry with one key.
func (l Layer) onlyHolds(key string) bool {
	if l.Global() || !l.Selective() || l.Config.Len() != 1 || !l.Get(key).Exists() {
		return false
	}
	return l.Entry.Len() == 2
}

// checkSwitch requires, for every class: aws became external, the stub is off,
// the flag is gone, and nothing else changed.
func (m *migration) checkSwitch(after transform.Cluster) error {
	if err := m.check(after, switched); err != nil {
		return err
	}
	return after.(*migration).checkControlPlanes(providerKey+": external, "+disableStub+": true and no "+leaderFlag, func(c Config) bool {
		_, flag := args.Last(args.Of(c[managerArgs].Value), leaderFlag)
		return c[providerKey].Value == external && truthy(c[disableStub].Value) && !flag && !inTreeComponent(c)
	})
}

func inTreeComponent(c Config) bool {
	return slices.ContainsFunc(componentArgs, func(key string) bool {
		a, found := args.Last(args.Of(c[key].Value), componentFlag)
		return found && a.Value == inTree
	})
}

// switched is the promise of the stage.
func switched(class Class, key string, before, now any) bool {
	switch {
	case key == providerKey:
		return before == inTree && now == external
	case key == disableStub:
		return class.Server() && truthy(now)
	case slices.Contains(componentArgs, key):
		return slices.EqualFunc(args.Without(args.Of(before), leaderFlag), args.Of(now), func(b, a args.Arg) bool {
			return b.Text == a.Text || b.Name == componentFlag && a.Name == componentFlag && b.Value == inTree && a.Value == external
		})
	}
	return false
}

// checkControlPlanes requires something of every class of control planes.
func (m *migration) checkControlPlanes(what string, ok func(Config) bool) error {
	for _, class := range m.Classes {
		if class.ControlPlane() && !ok(m.Effective(class)) {
			return fmt.Errorf("machines of class %s would not get %s", class.Name, what)
		}
	}
	return nil
}
