// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const filesKey = "machineSelectorFiles"

// fileEntries returns the entries; one with an invalid selector matches nothing.
func fileEntries(entries []rkev1.RKEProvisioningFiles, at yamledit.Node) []effective.File {
	nodes := at.Items()
	var found []effective.File
	for i, entry := range entries {
		f := effective.File{Entry: nodes[i]}
		if f.Selector, f.Invalid = selector(entry.MachineLabelSelector); f.Invalid != nil {
			f.Selector = labels.Nothing()
		}
		sources := nodes[i].Get("fileSources").Items()
		for j, source := range entry.FileSources {
			f.Sources = append(f.Sources, sourcesOf(sources[j], source)...)
		}
		found = append(found, f)
	}
	return found
}

// sourcesOf returns the objects that one element of fileSources names.
func sourcesOf(at yamledit.Node, source rkev1.ProvisioningFileSource) []effective.FileSource {
	var named []effective.FileSource
	for _, o := range []struct {
		kind, key string
		rkev1.K8sObjectFileSource
	}{
		{kindSecret, "secret", source.Secret},
		{kindConfigMap, "configMap", source.ConfigMap},
	} {
		if o.Name != "" {
			named = append(named, effective.FileSource{At: at.Get(o.key), Object: effective.Object{Kind: o.kind, Name: o.Name}, Items: o.Items})
		}
	}
	return named
}
