// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/procedure"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	managerArgs = "kube-controller-manager-arg"
	leaderFlag  = "enable-leader-migration"
	selectorKey = "machineSelectorConfig"
)

// enableLeaderMigration gives every control plane's kube-controller-manager the
// flag and keeps all its other arguments: the published edit replaces them.
func (m *migration) enableLeaderMigration() transform.Stage {
	return transform.Stage{
		Name:    transform.EnableLeaderMigration,
		Why:     procedure.EnableWhy + m.restarts(),
		Edit:    m.enableEdit,
		Check:   m.checkEnable,
		Undo:    m.enableUndo,
		Verify:  append([]transform.Action{m.settled()}, m.holder("the migration lease has the holder of kube-controller-manager")...),
		Restore: []transform.Action{m.settled()},
	}
}

// restarts names the pure etcd classes that get the argument too.
func (m *migration) restarts() string {
	var names []string
	for _, class := range m.Classes {
		if class.Server() && !class.ControlPlane() && slices.ContainsFunc(m.managerLocations(), func(l Layer) bool { return l.Matches(class) }) {
			names = append(names, class.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " The argument also reaches etcd machines (" + strings.Join(names, ", ") + "): it does nothing there, but rke2-server restarts."
}

// managerLocations returns the layers that define the manager's arguments and
// can match a control plane.
func (m *migration) managerLocations() []Layer {
	return slices.DeleteFunc(slices.Clone(m.Layers), func(l Layer) bool {
		return !l.Get(managerArgs).Exists() || !slices.ContainsFunc(m.Classes, func(c Class) bool { return c.ControlPlane() && l.Matches(c) })
	})
}

func (m *migration) enableEdit() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	if m.switching() {
		return e, nil
	}
	for _, l := range m.managerLocations() {
		if err := (args.Update{Set: []args.Arg{args.On(leaderFlag)}}).Apply(e, l.Get(managerArgs)); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(m.Classes, m.lacksLocation) {
		m.insertEntry(e, leaderFlag)
	}
	return e, nil
}

// lacksLocation reports whether nothing defines the manager's arguments for a
// class of control planes.
func (m *migration) lacksLocation(c Class) bool {
	return c.ControlPlane() && len(m.Candidates(c, managerArgs)) == 0
}

// insertEntry adds an entry for control planes in front of all others, so that
// it never overrides what is there. A cluster whose every entry has a selector
// crashes the interface of Rancher 2.7 and 2.8 (rancher/dashboard #9888), so one
// without a selector is added as well.
func (m *migration) insertEntry(e *yamledit.Edit, arg string) {
	entry := controlPlaneEntry(yamledit.Pair{Key: managerArgs, Value: []string{arg}})
	plain := yamledit.Map{{Key: "config", Value: yamledit.Map{}}}
	list := m.RKEConfig().Get(selectorKey)
	switch {
	case !list.Exists():
		e.Insert(m.RKEConfig(), selectorKey, []any{entry, plain})
	case list.IsNull() || list.Len() == 0:
		e.Set(list, []any{entry, plain})
	default:
		e.InsertItem(list, 0, entry)
		if !slices.ContainsFunc(m.Layers[1:], func(l Layer) bool { return !l.Selective() }) {
			e.Append(list, plain)
		}
	}
}

// controlPlaneEntry returns an entry of machineSelectorConfig for control planes.
func controlPlaneEntry(config ...yamledit.Pair) yamledit.Map {
	return yamledit.Map{
		{Key: "config", Value: yamledit.Map(config)},
		{Key: "machineLabelSelector", Value: yamledit.Map{
			{Key: "matchExpressions", Value: []any{yamledit.Map{
				{Key: "key", Value: LabelControlPlane},
				{Key: "operator", Value: "In"},
				{Key: "values", Value: []string{"true"}},
			}}},
		}},
	}
}

// checkEnable requires that control planes have all the arguments they had plus
// the flag, and that elsewhere at most the flag was added.
func (m *migration) checkEnable(after transform.Cluster) error {
	gained := func(c Class, key string, before, now any) bool {
		list := args.Of(now)
		a, on := args.Last(list, leaderFlag)
		return key == managerArgs && on && a.True() && sameArgs(args.Without(args.Of(before), leaderFlag), args.Without(list, leaderFlag))
	}
	if err := m.check(after, gained); err != nil {
		return err
	}
	return after.(*migration).checkControlPlanes(managerArgs+" with "+leaderFlag, func(c Config) bool {
		a, on := args.Last(args.Of(c[managerArgs].Value), leaderFlag)
		return on && a.True()
	})
}

// sameArgs compares arguments as they are written, in their order.
func sameArgs(a, b []args.Arg) bool {
	return slices.EqualFunc(a, b, func(x, y args.Arg) bool { return x.Text == y.Text })
}
