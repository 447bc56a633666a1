// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Form says how a layer holds its values.
type Form int

// The forms of layers.
const (
	Own     Form = iota // values.yaml of the chart, which the file cannot change
	Content             // a string with YAML
	Mapping             // a mapping of the document
	Entry               // an entry of spec.set
	Secret              // a Secret: what it holds is unknown
)

// InFile is the index of a layer of the cluster's file itself.
const InFile = -1

// Layer is one source of values.
type Layer struct {
	Form  Form
	Name  string        // as in "valuesContent of HelmChartConfig kube-system/ccm"
	Index int           // of the manifest that holds it, or InFile
	At    yamledit.Node // what holds the values in that document; may not exist
	Root  yamledit.Node // the values, if they are a mapping
	// Unknown means that no one can determine which values the layer has.
	Unknown bool

	values  map[string]any
	partial bool // an entry that sets one item of a list
	order   int  // among the layers of its release
}

// settles reports whether nothing of earlier layers is left at a path.
func (l Layer) settles(path []string) bool {
	v, decided := lookup(l.values, path)
	_, merged := v.(map[string]any)
	return decided && !merged && !l.partial
}

// lookup returns what values say about a path. A null says something, and so does what is no
// mapping where the path continues.
func lookup(values map[string]any, path []string) (any, bool) {
	var v any = values
	for _, key := range path {
		m, isMap := v.(map[string]any)
		if !isMap {
			return nil, true
		}
		if v, isMap = m[key]; !isMap {
			return nil, false
		}
	}
	return v, true
}

// read takes the values from the root, which is a mapping if it is anything. It is the first
// document of a string with YAML, as for Helm.
func (l Layer) read() (Layer, error) {
	if l.Form == Content && l.At.Exists() && !l.At.IsNull() {
		in, err := l.At.Embedded()
		if err != nil {
			return l, err
		}
		l.Root = in.Documents()[0].Root()
	}
	if !l.Root.Exists() || l.Root.IsNull() {
		return l, nil
	}
	v, isMap := l.Root.Value().(map[string]any)
	if !isMap {
		return l, l.Root.Errorf("the values of a chart must be a mapping", "correct "+l.Name)
	}
	l.values = v
	return l, nil
}
