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
	Entry yamledit.Node
	Paths []string

	selector labels.Selector
}

// fileEntries returns the entries; one with an invalid selector matches nothing.
func fileEntries(entries []rkev1.RKEProvisioningFiles, at yamledit.Node) []FileEntry {
	nodes := at.Items()
	var found []FileEntry
	for i, entry := range entries {
		f := FileEntry{Entry: nodes[i], selector: labels.Nothing()}
		if s, _, err := selector(entry.MachineLabelSelector); err == nil {
			f.selector = s
		}
		for _, source := range entry.FileSources {
			for _, item := range slices.Concat(source.Secret.Items, source.ConfigMap.Items) {
				f.Paths = append(f.Paths, item.Path)
			}
		}
		found = append(found, f)
	}
	return found
}

// delivers reports whether machines of a class get a file.
func (c *Cluster) delivers(file string, class Class) bool {
	return slices.ContainsFunc(c.Files, func(f FileEntry) bool {
		return slices.Contains(f.Paths, file) && f.selector.Matches(labels.Set(class.Labels))
	})
}
