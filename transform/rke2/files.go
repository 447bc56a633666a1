// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const filesKey = "machineSelectorFiles"

// FileEntry is an entry of machineSelectorFiles: files that Rancher writes on the
// machines that its selector matches. It never removes them again.
type FileEntry struct {
	Entry   yamledit.Node
	Sources []FileSource

	selector labels.Selector
	invalid  error // of the selector
}

// FileSource is one of the objects whose data Rancher writes to files, with the node
// that names it.
type FileSource struct {
	At yamledit.Node
	objectName
	Items []rkev1.KeyToPath
}

// fileEntries returns the entries; one with an invalid selector matches nothing.
func fileEntries(entries []rkev1.RKEProvisioningFiles, at yamledit.Node) []FileEntry {
	nodes := at.Items()
	var found []FileEntry
	for i, entry := range entries {
		f := FileEntry{Entry: nodes[i], selector: labels.Nothing()}
		if s, _, err := selector(entry.MachineLabelSelector); err == nil {
			f.selector = s
		} else {
			f.invalid = err
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
func sourcesOf(at yamledit.Node, source rkev1.ProvisioningFileSource) []FileSource {
	var named []FileSource
	for _, o := range []struct {
		kind, key string
		rkev1.K8sObjectFileSource
	}{
		{kindSecret, "secret", source.Secret},
		{kindConfigMap, "configMap", source.ConfigMap},
	} {
		if o.Name != "" {
			named = append(named, FileSource{At: at.Get(o.key), objectName: objectName{o.kind, o.Name}, Items: o.Items})
		}
	}
	return named
}

// writes reports whether an entry writes a file.
func (f FileEntry) writes(file string) bool {
	_, _, found := f.source(file)
	return found
}

// source returns the object whose data an entry writes to a file, and the item: the
// last one takes effect.
func (f FileEntry) source(file string) (FileSource, rkev1.KeyToPath, bool) {
	for _, s := range slices.Backward(f.Sources) {
		for _, item := range slices.Backward(s.Items) {
			if item.Path == file {
				return s, item, true
			}
		}
	}
	return FileSource{}, rkev1.KeyToPath{}, false
}

// delivers reports whether machines of a class get a file.
func (c *Cluster) delivers(file string, class Class) bool {
	return slices.ContainsFunc(class.reach.selected[class.reach.layers:], func(i int) bool { return c.Files[i-len(c.Layers)].writes(file) })
}
