// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Layer is one location of machine configuration: machineGlobalConfig, or an
// entry of machineSelectorConfig.
type Layer struct {
	Config yamledit.Node // the mapping of arguments; may be null or not exist
	Entry  yamledit.Node // the entry of machineSelectorConfig; does not exist for the global layer

	selector  labels.Selector
	selective bool
	index     int // among the layers
}

// Global reports whether the layer is machineGlobalConfig.
func (l Layer) Global() bool { return !l.Entry.Exists() }

// Matches reports whether machines of the class get the layer.
func (l Layer) Matches(c Class) bool { return c.reach.has(l.index) }

func (r *reach) has(selector int) bool {
	_, found := slices.BinarySearch(r.selected, selector)
	return found
}

// Selective reports whether the layer has a selector that requires anything. A
// selector whose fields are all misspelt does not: the API prunes them.
func (l Layer) Selective() bool { return l.selective }

// Why reports which machines the layer is for.
func (l Layer) Why() string {
	if !l.selective {
		return "for all machines"
	}
	return "for machines with " + l.selector.String()
}

// Get returns the value of an argument; it may not exist.
func (l Layer) Get(key string) yamledit.Node { return l.Config.Get(key) }

func globalLayer(config yamledit.Node) Layer {
	return Layer{Config: config, selector: labels.Everything()}
}

// selectorLayers returns a layer for every entry of machineSelectorConfig.
func selectorLayers(entries []rkev1.RKESystemConfig, at yamledit.Node) ([]Layer, error) {
	nodes := at.Items()
	var layers []Layer
	for i, entry := range entries {
		if !nodes[i].IsMap() {
			return nil, nodes[i].Errorf("the entry is empty", "remove it, or give it a config")
		}
		l := Layer{Config: nodes[i].Get("config"), Entry: nodes[i]}
		var err error
		if l.selector, l.selective, err = selector(entry.MachineLabelSelector); err != nil {
			return nil, transform.Refuse(ruleSelectorInvalid, invalidPart(nodes[i].Get(selectorField), *entry.MachineLabelSelector),
				"the selector is invalid, and Rancher refuses the whole cluster",
				"use In and NotIn with values, Exists and DoesNotExist without, and well-formed labels")
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// selector reads an absent selector as Rancher does: it matches all machines,
// where Kubernetes would match none.
func selector(s *metav1.LabelSelector) (matches labels.Selector, selective bool, err error) {
	if s == nil {
		return labels.Everything(), false, nil
	}
	matches, err = metav1.LabelSelectorAsSelector(s)
	return matches, len(s.MatchLabels)+len(s.MatchExpressions) > 0, err
}

// invalidPart returns the part of an invalid selector that is the cause. A key that
// is no label is not named: it could be anything.
func invalidPart(at yamledit.Node, s metav1.LabelSelector) yamledit.Node {
	for i, part := range s.MatchExpressions {
		if _, _, err := selector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{part}}); err != nil {
			return at.Get(expressionsField).Items()[i]
		}
	}
	for _, e := range at.Get(labelsField).Entries() {
		if _, _, err := selector(&metav1.LabelSelector{MatchLabels: map[string]string{e.Key: ""}}); err != nil {
			return e.Value.Parent()
		}
		if _, _, err := selector(&metav1.LabelSelector{MatchLabels: map[string]string{e.Key: e.Value.StringAt()}}); err != nil {
			return e.Value
		}
	}
	return at
}
