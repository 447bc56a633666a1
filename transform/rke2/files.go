// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	"k8s.io/apimachinery/pkg/labels"

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
