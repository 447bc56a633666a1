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
	File *yamledit.Edit     // of the cluster's file; it keeps the first error
	In   *yamledit.Embedded // of the manifests in it; nil where there are none
}

// writing is a chart of which each value is written where it takes effect.
type writing struct {
	Chart
	ed Edits
}

// place is where a value of the chart is written.
type place struct {
	layer helmchart.Layer
	edit  *yamledit.Edit
	root  yamledit.Node // the values of the layer
}

// place finds the layer that decides about a path. The edit fails where a later one may take
// the value back, which the file does not show.
func (w writing) place(path ...string) place {
	l := w.Decider(path...)
	unseen, hidden := w.After(l)
	switch {
	case hidden:
		w.ed.File.Fail(unseen.At.Errorf(unseen.Name+" comes after "+l.Name+" and can set "+key(path)+", which the file does not show",
			"set "+key(path)+" where nothing comes after it, in valuesContent of a HelmChartConfig of the same name"))
	case l.Form == helmchart.Content && !l.Root.Exists():
		w.ed.File.Fail(w.Root.Get("spec").Errorf("the chart's default values set "+key(path)+", and the HelmChart has none", "add valuesContent with "+key(path)))
	default:
		return w.ed.open(l)
	}
	return place{edit: w.ed.File}
}

// open returns the place of a layer.
func (ed Edits) open(l helmchart.Layer) place {
	p := place{layer: l, edit: ed.File, root: l.Root}
	if l.Index != helmchart.InFile {
		p.edit = ed.In.Edit(l.Index)
	}
	if l.Form != helmchart.Content {
		return p
	}
	nested, err := p.edit.Embedded(l.At)
	if ed.File.Fail(err); err != nil {
		return place{edit: ed.File}
	}
	p.edit, p.root = nested.Edit(0), nested.Documents()[0].Root()
	return p
}

// list returns a list and its place. The edit fails for an entry of spec.set, which takes no items.
func (w writing) list(key string) (place, yamledit.Node) {
	p := w.place(key)
	if p.layer.Form == helmchart.Entry {
		w.ed.File.Fail(p.layer.At.Errorf("spec.set sets "+key+" of the chart, and rke-lm does not edit its entries",
			"move "+key+" to valuesContent and remove the entry"))
	}
	return p, p.root.Get(key)
}

// add appends items to a list, or writes one that has them.
func (w writing) add(key string, items ...any) {
	if len(items) == 0 {
		return
	}
	p, list := w.list(key)
	if len(list.Items()) == 0 {
		p.put(items, key)
		return
	}
	for _, v := range items {
		p.edit.Append(list, v)
	}
}

// fill writes a value, unless the file does not show what is there.
func (w writing) fill(v any, path ...string) {
	if _, unseen := w.Unknown(path...); !unseen {
		w.place(path...).put(v, path...)
	}
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
