// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/bundle"
	"github.com/rke-lm/rke-lm/transform/procedure"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// enableLeaderMigration gives kube-controller-manager the flag.
func (m *migration) enableLeaderMigration() transform.Stage {
	return transform.Stage{
		Name:    transform.EnableLeaderMigration,
		Why:     procedure.EnableWhy + " RKE restarts it on one control plane after the other.",
		Edit:    m.enableEdit,
		Check:   m.checkEnable,
		Undo:    m.enableUndo,
		Actions: []transform.Action{m.taken()},
		Verify:  procedure.Holder(m.target, "the migration lease has the holder of kube-controller-manager"),
		Restore: []transform.Action{m.taken()},
	}
}

func (m *migration) enableEdit() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	if m.isExternal() || m.migrates() {
		return e, nil // nothing puts the flag on an external manager
	}
	m.setFlag(e)
	return e, nil
}

// setFlag switches the flag on. Arguments that may be repeated come last and win,
// so it is set there where it stands there.
func (m *migration) setFlag(e *yamledit.Edit) {
	on := args.Update{Set: []args.Arg{args.On(leaderFlag)}}
	if repeated := m.get(servicesKey, manager, argsArrayKey); repeated.Get(leaderFlag).Exists() {
		on.ApplyMap(e, repeated)
		return
	}
	if own := m.get(servicesKey, manager, argsKey); own.IsMap() {
		on.ApplyMap(e, own)
		return
	}
	m.put(e, yamledit.Map{{Key: leaderFlag, Value: "true"}}, servicesKey, manager, argsKey)
}

// The ways to the manager's flag in what RKE reads.
const (
	flagWay  = "services.kubeController.extraArgs." + leaderFlag
	flagsWay = "services.kubeController.extraArgsArray." + leaderFlag
)

func (m *migration) checkEnable(after transform.Cluster) error {
	err := m.check(after, func(way string, _, _ any) bool { return way == flagWay || way == flagsWay })
	if err == nil && !after.(*migration).migrates() {
		err = fmt.Errorf("kube-controller-manager would not get %s", leaderFlag)
	}
	return err
}

// enableUndo takes the flag off the manager. An external manager has none: there
// the switch is undone first.
func (m *migration) enableUndo() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	if m.isExternal() || !m.migrates() {
		return e, nil
	}
	if n := m.get(servicesKey, manager, argsArrayKey).Get(leaderFlag); n.Exists() {
		return nil, transform.Lost(n, leaderFlag+" does not stand there as rke-lm writes it, so it was there before")
	}
	at := m.get(servicesKey, manager, argsKey)
	flag := at.Get(leaderFlag)
	if text, _ := flag.String(); text != "true" {
		return nil, transform.Lost(flag, leaderFlag+" does not stand there as rke-lm writes it, so it was there before")
	}
	if at.Len() > 1 {
		e.Remove(flag)
		return e, nil
	}
	m.removeFlag(e)
	return e, bundle.UsualOf(m.target)(at, "no other argument is in it, and before it was absent, empty or null")
}

// removeFlag takes the flag off the manager, and with it the mappings that hold
// nothing else, up to the services.
func (m *migration) removeFlag(e *yamledit.Edit) {
	for _, key := range []string{argsKey, argsArrayKey} {
		n := m.get(servicesKey, manager, key).Get(leaderFlag)
		if !n.Exists() {
			continue
		}
		for n.Parent().Len() == 1 && !n.Parent().Same(m.Config) {
			n = n.Parent()
		}
		e.Remove(n)
	}
}
