// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The reverse of a stage takes away what the stage would have written, where it
// stands as the stage writes it. transform.Undo proves that the stage would write
// it again; what is decided here is which of several predecessors is meant.

// usual stands for a choice that the document does not determine: it fails unless
// the operator asked for the usual form.
func (m *migration) usual(at yamledit.Node, what string) error {
	if m.target.Canonical {
		return nil
	}
	return transform.Undetermined(at, what+"; the file does not tell which")
}

// grantUndo takes the Role and the RoleBinding out of the manifest.
func (m *migration) grantUndo() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	docs, err := m.manifest()
	if err != nil {
		return nil, err
	}
	n, there := leadermigration.Conflict(docs, m.target.Lease())
	if !there {
		return e, nil
	}
	ours, all := whereIn(docs, leadermigration.Grant(m.target.Lease()))
	if !all {
		return nil, transform.Lost(n, "this manifest is not as rke-lm writes it, so it may have another purpose")
	}
	if n, used := leadermigration.UsedBy(docs, ours, m.target.Lease()); used {
		return nil, transform.Lost(n, "this manifest uses the role "+m.target.Lease()+", too")
	}
	return e, m.removeManifests(e, ours)
}

// installUndo takes out the chart that installCCM would write.
func (m *migration) installUndo() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	chart, found, err := m.chart()
	if err != nil || !found {
		return e, err
	}
	text, err := m.newManifest()
	if err != nil {
		return nil, err
	}
	docs, err := m.manifest()
	if err != nil {
		return nil, err
	}
	ours, all := whereIn(docs, text)
	if !all {
		return nil, transform.Lost(chart.Root, "this HelmChart is not the one that these choices (--chart-version, --ccm-image-tag and the like) install")
	}
	return e, m.removeManifests(e, ours)
}

// whereIn returns where the documents of a text stand among others, and whether
// all of them do.
func whereIn(docs []*yamledit.Document, text string) (at []int, all bool) {
	all = true
	for _, c := range yamledit.Split("", []byte(text)) {
		want, err := yamledit.Parse(c)
		if err != nil {
			return nil, false // the texts are rke-lm's own, and tested
		}
		found := false
		for i, d := range docs {
			if d.Root().Exists() && transform.Same(d.Root().Value(), want.Root().Value()) {
				at, found = append(at, i), true
				break
			}
		}
		all = all && found
	}
	return at, all
}

// removeManifests takes documents out of additionalManifest, and the key with the
// last one.
func (m *migration) removeManifests(e *yamledit.Edit, which []int) error {
	at := m.RKEConfig().Get(manifestKey)
	alone, err := at.Embedded()
	if err != nil {
		return err
	}
	remove(alone, which)
	empty, err := alone.Empty()
	if err != nil {
		return err
	}
	if empty {
		e.Remove(at)
		return m.usual(at, "nothing else is in it, and before it was either absent or empty")
	}
	in, err := e.Embedded(at)
	if err != nil {
		return err
	}
	remove(in, which)
	return nil
}

func remove(in *yamledit.Embedded, which []int) {
	for _, i := range which {
		in.Remove(i)
	}
}
