// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Edits are the edits that a chart may take part in. The nodes of a chart that is
// changed are those of these edits.
type Edits struct {
	File *yamledit.Edit     // of the cluster's file
	In   *yamledit.Embedded // of the manifests in it; nil where there are none
}

// place is where a value of the chart is written.
type place struct {
	layer helmchart.Layer
	edit  *yamledit.Edit
	root  yamledit.Node // the values of the layer
}

// placer returns where the value at a path is written.
type placer func(path ...string) (place, error)

// in is the placer of values without a chart around them.
func in(e *yamledit.Edit, root yamledit.Node) placer {
	return func(...string) (place, error) { return place{edit: e, root: root}, nil }
}

// placer finds the layer that decides. It fails where a later one may take the
// value back, which the file does not show.
func (c Chart) placer(ed Edits) placer {
	return func(path ...string) (place, error) {
		l := c.Decider(path...)
		if unseen, hidden := c.After(l); hidden {
			return place{}, unseen.At.Errorf(unseen.Name+" comes after "+l.Name+" and can set "+key(path)+", which the file does not show",
				"set "+key(path)+" where nothing comes after it, in valuesContent of a HelmChartConfig of the same name")
		}
		if l.Form == helmchart.Content && !l.Root.Exists() {
			return place{}, c.Root.Get("spec").Errorf("the chart's default values set "+key(path)+", and the HelmChart has none", "add valuesContent with "+key(path))
		}
		return ed.open(l)
	}
}

// open returns the place of a layer.
func (ed Edits) open(l helmchart.Layer) (place, error) {
	p := place{layer: l, edit: ed.File, root: l.Root}
	if l.Index != helmchart.InFile {
		p.edit = ed.In.Edit(l.Index)
	}
	if l.Form != helmchart.Content {
		return p, nil
	}
	nested, err := p.edit.Embedded(l.At)
	if err != nil {
		return p, err
	}
	p.edit, p.root = nested.Edit(0), nested.Documents()[0].Root()
	return p, nil
}

// list returns the place if it can take items of a list: an entry of spec.set
// cannot.
func (p place) list(path string) (yamledit.Node, error) {
	if p.layer.Form == helmchart.Entry {
		return yamledit.Node{}, p.layer.At.Errorf("spec.set sets "+path+" of the chart, and rke-lm does not edit its entries",
			"move "+path+" to valuesContent and remove the entry")
	}
	return p.root.Get(path), nil
}

// put writes a value at a path.
func (p place) put(v any, path ...string) {
	if p.layer.Form == helmchart.Entry {
		p.edit.Set(p.layer.At, v)
	} else {
		p.edit.Put(p.root, v, path...)
	}
}

// key writes a path as spec.set does.
func key(path []string) string { return strings.Join(path, ".") }

// Documents returns the manifests that the edits are of.
func (ed Edits) Documents() []*yamledit.Document {
	if ed.In == nil {
		return nil
	}
	return ed.In.Documents()
}
