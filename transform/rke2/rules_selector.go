// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ruleSelectorInvalid refuses a cluster for a selector that Kubernetes refuses.
const ruleSelectorInvalid = "selector-invalid"

const (
	selectorField    = "machineLabelSelector"
	labelsField      = "matchLabels"
	expressionsField = "matchExpressions"
)

// selectorNames are other names under which people look for the selector.
var selectorNames = []string{selectorField, "labelSelector", "machineSelector", "nodeSelector", "selector", "machineLabels", "matchLabel", "matchExpression", labelsField, expressionsField}

// misspelling is a field that Rancher drops, and the one that was meant; "" says
// that it takes more than another name.
type misspelling struct {
	field yamledit.Node
	right string
}

// selectorWidened finds the fields of selectors that Rancher drops.
func (m *migration) selectorWidened(found *transform.Findings) {
	for _, l := range m.Layers[1:] {
		for _, s := range misspelt(l.Entry) {
			reach, fix := "every machine", "put it below "+selectorField+", in "+labelsField+" or "+expressionsField
			if l.Selective() {
				reach = "more machines than intended"
			}
			if s.right != "" {
				fix = "name it " + s.right
			}
			found.At(s.field, "Rancher drops this unknown field, so the entry matches "+reach, fix)
		}
	}
}

// selectorUnmatched finds entries that reach no machine. Those of a custom cluster can get any label.
func (m *migration) selectorUnmatched(found *transform.Findings) {
	matched := m.Matched(anyClass)
	check := func(entry yamledit.Node, i int) {
		if !matched[i] {
			found.At(entry, "no machine has the labels that this entry selects, so it reaches none",
				"select by the labels that Rancher gives machines, such as "+effective.LabelControlPlane+": \"true\", or add the label to the labels of a pool; or remove the entry")
		}
	}
	for _, l := range m.Layers[1:] {
		check(l.Entry, l.Index)
	}
	for i, f := range m.Files {
		if f.Invalid == nil {
			check(f.Entry, len(m.Layers)+i)
		}
	}
}

// spellSelectors renames such fields.
func (m *migration) spellSelectors() []transform.Correction {
	var fixes []transform.Correction
	for _, l := range m.Layers[1:] {
		for _, s := range misspelt(l.Entry) {
			if s.right != "" && !s.field.Parent().Get(s.right).Exists() {
				fixes = append(fixes, func(e *yamledit.Edit) { e.Rename(s.field, s.right) })
			}
		}
	}
	return fixes
}

// misspelt returns the fields of an entry that were meant to select machines,
// and those inside of such a field: a fix must not uncover more than it corrects.
func misspelt(entry yamledit.Node) []misspelling {
	var list []misspelling
	for _, e := range entry.Entries() {
		switch {
		case e.Key == selectorField:
			list = append(list, misspeltParts(e.Value)...)
		case e.Key == "config" || !namesSelector(e.Key):
		case strings.HasPrefix(e.Key, "match") || !e.Value.IsMap():
			list = append(list, misspelling{e.Value, ""})
		default:
			list = append(list, misspelling{e.Value, selectorField})
			list = append(list, misspeltParts(e.Value)...)
		}
	}
	return list
}

func misspeltParts(selector yamledit.Node) []misspelling {
	var list []misspelling
	for _, e := range selector.Entries() {
		if e.Key != labelsField && e.Key != expressionsField {
			list = append(list, misspelling{e.Value, selectorPart(e)})
		}
	}
	return list
}

func namesSelector(key string) bool {
	return slices.ContainsFunc(selectorNames, func(name string) bool {
		return args.Distance(strings.ToLower(key), strings.ToLower(name)) <= 2
	})
}

// selectorPart returns the part of a selector that a field was meant to be: by
// its name, as long as its kind is right.
func selectorPart(e yamledit.Entry) string {
	const slips = 4
	key := strings.ToLower(e.Key)
	switch {
	case e.Value.IsMap() && args.Distance(key, strings.ToLower(labelsField)) <= slips:
		return labelsField
	case e.Value.IsList() && args.Distance(key, strings.ToLower(expressionsField)) <= slips:
		return expressionsField
	}
	return ""
}

// Rancher's interface reads the provider off the first entry of
// machineSelectorConfig without a selector (rancher/dashboard,
// shell/models/provisioning.cattle.io.cluster.js), and versions up to 2.9 fail
// where there is none: see k8s.RancherMinor.PlainEntry.

// plainEntry is an entry for all machines that sets nothing.
var plainEntry = yamledit.Map{{Key: "config", Value: yamledit.Map{}}}

// lacksSelector reports whether the interface takes an entry for one without a selector:
// an empty selector matches every machine as well, and is none of them.
func lacksSelector(l effective.Layer) bool {
	at := l.Entry.Get(selectorField)
	return !l.Global() && (!at.Exists() || at.IsNull())
}

func (m *migration) lacksPlainEntry() bool { return !slices.ContainsFunc(m.Layers, lacksSelector) }

func (m *migration) uiEditFails(found *transform.Findings) {
	const fails = ": in Rancher 2.7 to 2.9 the page that edits the cluster fails to load"
	at := m.RKEConfig().Get(selectorKey)
	if !at.Exists() || !m.lacksPlainEntry() || !k8s.RancherOf(m.target.RancherVersion).PlainEntry {
		return
	}
	what, fix := "every entry has a selector", "add an entry - config: {} without a selector"
	if at.IsNull() || at.Len() == 0 {
		what, fix = "there is no entry", "write one entry, - config: {}, or remove the key"
	}
	found.At(at, what+fails, fix)
}

// addPlainEntry changes nothing for any machine.
func (m *migration) addPlainEntry() []transform.Correction {
	at := m.RKEConfig().Get(selectorKey)
	if !at.Exists() || !m.lacksPlainEntry() {
		return nil
	}
	return []transform.Correction{func(e *yamledit.Edit) {
		if at.IsNull() || at.Len() == 0 {
			e.Set(at, []any{plainEntry})
		} else {
			e.Append(at, plainEntry)
		}
	}}
}
