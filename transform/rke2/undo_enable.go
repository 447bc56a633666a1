// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
