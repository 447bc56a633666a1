// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const filesKey = "machineSelectorFiles"

// fileEntries returns the entries; one with an invalid selector matches nothing.
func fileEntries(entries []rkev1.RKEProvisioningFiles, at yamledit.Node) []effective.File {
	nodes := at.Items()
	var found []effective.File
	for i, entry := range entries {
		f := effective.File{Entry: nodes[i], Sources: sourcesOf(nodes[i])}
		if f.Selector, f.Invalid = selector(entry.MachineLabelSelector); f.Invalid != nil {
			f.Selector = labels.Nothing()
		}
		found = append(found, f)
	}
	return found
}

// sourcesOf returns the objects that the fileSources of an entry name. The document may be malformed.
func sourcesOf(entry yamledit.Node) (named []effective.FileSource) {
	item := func(n yamledit.Node) rkev1.KeyToPath {
		return rkev1.KeyToPath{Key: n.StringAt("key"), Path: n.StringAt("path"), Hash: n.StringAt("hash")}
	}
	for _, source := range entry.Get("fileSources").Items() {
		for _, form := range [][2]string{{kindSecret, "secret"}, {kindConfigMap, "configMap"}} {
			at := source.Get(form[1])
			if name := at.StringAt("name"); name != "" {
				named = append(named, effective.FileSource{At: at, Object: effective.Object{Kind: form[0], Name: name}, Items: lists.Map(at.Get("items").Items(), item)})
			}
		}
	}
	return named
}

// layers returns machineGlobalConfig, and a layer for every entry of machineSelectorConfig.
func layers(global yamledit.Node, entries []rkev1.RKESystemConfig, at yamledit.Node) ([]effective.Layer, error) {
	nodes := at.Items()
	layers := []effective.Layer{{Config: global, Selector: labels.Everything()}}
	for i, entry := range entries {
		if !nodes[i].IsMap() {
			return nil, nodes[i].Errorf("the entry is empty", "remove it, or give it a config")
		}
		matches, err := selector(entry.MachineLabelSelector)
		if err != nil {
			return nil, transform.Refuse(ruleSelectorInvalid, invalidPart(nodes[i].Get(selectorField), *entry.MachineLabelSelector),
				"the selector is invalid, and Rancher refuses the whole cluster",
				"use In and NotIn with values, Exists and DoesNotExist without, and well-formed labels")
		}
		layers = append(layers, effective.Layer{Config: nodes[i].Get("config"), Entry: nodes[i], Selector: matches, Index: i + 1})
	}
	return layers, nil
}

// selector reads an absent selector as Rancher does: it matches all machines,
// where Kubernetes would match none.
func selector(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

// invalidPart returns the part of an invalid selector that is the cause. A key that
// is no label is not named: it could be anything.
func invalidPart(at yamledit.Node, s metav1.LabelSelector) yamledit.Node {
	invalid := func(s metav1.LabelSelector) bool { _, err := selector(&s); return err != nil }
	for i, part := range s.MatchExpressions {
		if invalid(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{part}}) {
			return at.Get(expressionsField).Items()[i]
		}
	}
	for _, e := range at.Get(labelsField).Entries() {
		if invalid(metav1.LabelSelector{MatchLabels: map[string]string{e.Key: ""}}) {
			return e.Value.Parent()
		}
		if invalid(metav1.LabelSelector{MatchLabels: map[string]string{e.Key: e.Value.StringAt()}}) {
			return e.Value
		}
	}
	return at
}
