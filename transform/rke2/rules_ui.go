// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ranchers"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Rancher's interface reads the provider off the first entry of
// machineSelectorConfig without a selector (rancher/dashboard,
// shell/models/provisioning.cattle.io.cluster.js), and versions up to 2.9 fail
// where there is none: see ranchers.Release.PlainEntry.

// plainEntry is an entry for all machines that sets nothing.
var plainEntry = yamledit.Map{{Key: "config", Value: yamledit.Map{}}}

// isPlain reports whether the interface takes an entry for one without a selector:
// an empty selector matches every machine as well, and is none of them.
func (l Layer) isPlain() bool {
	at := l.Entry.Get(selectorField)
	return !l.Global() && (!at.Exists() || at.IsNull())
}

func (m *migration) lacksPlainEntry() bool { return !slices.ContainsFunc(m.Layers, Layer.isPlain) }

func (m *migration) uiEditFails(found *transform.Findings) {
	const fails = ": in Rancher 2.7 to 2.9 the page that edits the cluster fails to load"
	at := m.RKEConfig().Get(selectorKey)
	if !at.Exists() || !m.lacksPlainEntry() || !ranchers.Of(m.target.RancherVersion).PlainEntry {
		return
	}
	what, fix := "every entry has a selector", "add an entry - config: {} without a selector"
	if at.IsNull() || at.Len() == 0 {
		what, fix = "there is no entry", "write one entry, - config: {}, or remove the key"
	}
	found.At(at, what+fails, fix)
}

// addPlainEntry changes nothing for any machine.
func (m *migration) addPlainEntry() []correction {
	at := m.RKEConfig().Get(selectorKey)
	if !at.Exists() || !m.lacksPlainEntry() {
		return nil
	}
	return []correction{func(e *yamledit.Edit) error {
		if at.IsNull() || at.Len() == 0 {
			e.Set(at, []any{plainEntry})
		} else {
			e.Append(at, plainEntry)
		}
		return nil
	}}
}
