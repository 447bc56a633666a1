// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// flagOf gives the components' flag for a key of RKE2.
var flagOf = map[string]string{providerKey: componentFlag, cloudConfigKey: "cloud-config"}

// slippedArg is an argument that its component does not know.
type slippedArg struct {
	args.Arg
	component string // the key of its list
	right     string // the argument that was meant, or "" for none
}

// wrongArgSpelling finds RKE2's keys, and slips of the flags of a migration,
// among the arguments of components.
func (m *migration) wrongArgSpelling(found *transform.Findings) {
	for _, s := range m.slippedArgs() {
		fix := "remove it"
		switch {
		case turnsStubOff(s.Name) && s.True():
			fix = "set the key " + disableStub + ": true of RKE2 instead"
		case s.right != "":
			name, _, _ := strings.Cut(s.right, "=")
			fix = "write " + name
		}
		message := s.Name + " is no flag of " + strings.TrimSuffix(s.component, "-arg") + ", which does not start with an unknown flag"
		if _, isKey := m.Release.Type(s.Name); isKey {
			message += "; it is a key of RKE2's own configuration"
		}
		found.At(s.Node(), message, fix)
	}
}

// spellArgs writes the flag that was meant, or takes the slip out where the flag
// is there as well.
func (m *migration) spellArgs() []transform.Correction {
	var fixes []transform.Correction
	for _, s := range m.slippedArgs() {
		if turnsStubOff(s.Name) && s.True() {
			fixes = append(fixes, func(e *yamledit.Edit) { m.moveStub(e, s) })
		}
		if s.right == "" {
			continue
		}
		fixes = append(fixes, func(e *yamledit.Edit) {
			list := s.Node().Parent()
			if list.IsList() && args.Has(args.Of(list.Value()), args.Parse(s.right).Name) {
				e.Remove(s.Node())
			} else {
				e.Set(s.Node(), s.right)
			}
		})
	}
	return fixes
}

// moveStub makes an argument in the list of a component a key of
// RKE2. The key next to the list reaches the same machines.
func (m *migration) moveStub(e *yamledit.Edit, s slippedArg) {
	list := s.Node()
	if s.Node().Parent().IsList() {
		list = s.Node().Parent()
	}
	config := list.Parent()
	if !config.Get(disableStub).Exists() {
		e.InsertAfter(list, disableStub, true)
	} else if !truthy(config.Get(disableStub).Value()) {
		e.Fail(config.Get(disableStub).Errorf("the key contradicts the argument", "write the intended value"))
	}
	switch {
	case !s.Node().Same(list) && len(args.Of(list.Value())) > 1:
		e.Remove(s.Node())
	case m.isAlone(list):
		e.Remove(list)
	default:
		e.Fail(list.Errorf("without the argument an earlier list would take effect", "write the intended list"))
	}
}

// isAlone reports whether a location is the only one of its key.
func (m *migration) isAlone(at yamledit.Node) bool {
	return !slices.ContainsFunc(m.LayersWith(at.Key()), func(l effective.Layer) bool { return !l.Get(at.Key()).Same(at) })
}

func (m *migration) slippedArgs() []slippedArg {
	var list []slippedArg
	for _, e := range m.Written() {
		if _, known := m.Release.Type(e.Key); !known || !strings.HasSuffix(e.Key, "-arg") {
			continue
		}
		for _, a := range args.Place(e.Value) {
			if right, slipped := m.meant(e.Key, a); slipped {
				list = append(list, slippedArg{a, e.Key, right})
			}
		}
	}
	return list
}

// meant returns the argument that should replace one that its
// component does not know.
func (m *migration) meant(component string, a args.Arg) (right string, slipped bool) {
	flag, isKey := flagOf[a.Name]
	switch {
	case isKey && slices.Contains(componentArgs, component) && m.knowsProvider(component):
		return asFlag(a, flag), true
	case isKey, turnsStubOff(a.Name), slices.Contains(gateKeys, a.Name):
		return "", true
	}
	for _, flag := range []string{componentFlag, leaderFlag} {
		if m.takes(component, flag) && slippedFrom(a.Name, flag) {
			return asFlag(a, flag), true
		}
	}
	return "", false
}

// slippedFrom reports whether a name is a slip of a flag. Components read
// underscores as dashes.
func slippedFrom(name, flag string) bool {
	return strings.ReplaceAll(name, "_", "-") != flag &&
		(args.IsSlip(name, flag) || strings.HasPrefix(name, flag+" "))
}

// asFlag writes an argument with another name, and with = before its value.
func asFlag(a args.Arg, flag string) string {
	if _, value, spaced := strings.Cut(a.Text, flag+" "); spaced {
		return flag + "=" + strings.TrimSpace(value)
	}
	return strings.Replace(a.Text, a.Name, flag, 1)
}

// takes reports whether a component has a flag of the migration.
func (m *migration) takes(component, flag string) bool {
	if flag == leaderFlag {
		return component == managerArgs
	}
	return slices.Contains(componentArgs, component) && m.knowsProvider(component)
}
