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

	values  map[string]any
	unknown bool
	partial bool // an entry that sets one item of a list
	order   int  // among the layers of its release
}

// Unknown reports whether no one can determine which values the layer has.
func (l Layer) Unknown() bool { return l.unknown }

// decides returns what the layer says about a path. A null says something, and so
// does what is no mapping where the path continues.
func (l Layer) decides(path []string) (any, bool) { return lookup(l.values, path) }

// settles reports whether nothing of earlier layers is left at a path.
func (l Layer) settles(path []string) bool {
	v, decided := l.decides(path)
	_, merged := v.(map[string]any)
	return decided && !merged && !l.partial
}

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

// contentLayer reads a string with YAML: of several documents Helm takes the first.
func contentLayer(l Layer) (Layer, error) {
	l.Form = Content
	if !l.At.Exists() || l.At.IsNull() {
		return l, nil
	}
	in, err := l.At.Embedded()
	if err != nil {
		return l, err
	}
	l.Root = in.Documents()[0].Root()
	return l.read()
}

// read takes the values from the root, which is a mapping if it is anything.
func (l Layer) read() (Layer, error) {
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
