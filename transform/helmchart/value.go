// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Value returns what reaches the chart at a path, as far as the file shows it.
func (r Release) Value(path ...string) any {
	v, _ := lookup(r.values, path)
	return v
}

// Given returns the values that the file gives to the chart, merged.
func (r Release) Given() map[string]any { return r.given }

// States reports whether the file gives the chart a value at a path.
func (r Release) States(path ...string) bool {
	_, stated := lookup(r.given, path)
	return stated
}

// Unknown returns the last layer that may decide a path in a way that the file
// does not show.
func (r Release) Unknown(path ...string) (Layer, bool) {
	for _, l := range slices.Backward(r.Layers) {
		switch {
		case l.Unknown:
			return l, true
		case l.settles(path):
			return Layer{}, false
		}
	}
	return Layer{}, false
}

// Decider returns the layer that decides a path; without one that the file holds
// it is the first that could, which may not be there yet.
func (r Release) Decider(path ...string) Layer {
	for _, l := range slices.Backward(r.Layers) {
		if _, decided := lookup(l.values, path); decided && l.Form != Own {
			return l
		}
	}
	return r.Base()
}

// Base returns the layer that takes values of which no other has any.
func (r Release) Base() Layer {
	base := lists.Where(r.Layers, func(l Layer) bool { return l.Form == Content || l.Form == Mapping })
	if len(base) > 1 && !base[0].At.Exists() && base[1].Form == Mapping && base[1].Index == r.Index {
		return base[1] // spec.values without spec.valuesContent
	}
	return base[0]
}

// After returns a layer after another one whose values are unknown.
func (r Release) After(layer Layer) (Layer, bool) {
	return lists.Find(r.Layers, func(l Layer) bool { return l.Unknown && l.order > layer.order })
}

// Overrides reports whether anything apart from valuesContent of the HelmChart holds
// values.
func (r Release) Overrides() bool {
	return slices.ContainsFunc(r.Layers, func(l Layer) bool {
		return l.Form != Own && !l.At.Same(r.Spec("valuesContent")) && l.At.Exists()
	})
}

// Rebase returns the release with other values in place of the base.
func (r Release) Rebase(values yamledit.Node) (Release, error) {
	i := r.Base().order
	r.Layers = slices.Clone(r.Layers)
	r.Layers[i], r.err = Layer{Form: Mapping, Index: InFile, At: values, Root: values, order: i}.read()
	return r.merged()
}

// Node returns the node of a path in the layer, or what holds the layer where it
// is not there.
func (l Layer) Node(path ...string) yamledit.Node {
	if n := l.Root.Get(path...); l.Root.Exists() && n.Exists() {
		return n
	}
	return l.At
}
