// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// StorageClassInTree is for StorageClasses in the manifests of a cluster's file, without the driver.
var StorageClassInTree = transform.Rule{
	ID: "storage-class-in-tree", Severity: transform.Warning, Guards: TheSwitch, Acceptable: true,
	Doc: "A manifest in the file has a StorageClass with the in-tree provisioner kubernetes.io/aws-ebs, and none installs the EBS CSI driver, without which no component creates or attaches such volumes after the switch.",
}

// InTreeClasses reports the StorageClasses at the string that holds the manifests.
func InTreeClasses(docs []*yamledit.Document, at yamledit.Node, found *transform.Findings) {
	if slices.ContainsFunc(docs, func(d *yamledit.Document) bool { return strings.Contains(string(d.Bytes()), "aws-ebs-csi-driver") }) {
		return
	}
	for _, d := range docs {
		root := d.Root()
		kind, _ := root.Get("kind").String()
		if by, _ := root.Get("provisioner").String(); kind == "StorageClass" && by == "kubernetes.io/aws-ebs" {
			found.At(at, "StorageClass "+root.StringAt("metadata", "name")+" has the in-tree provisioner "+by+", and after the switch only the EBS CSI driver creates and attaches its volumes",
				"install the EBS CSI driver on every node before the switch; see the guide on volumes")
		}
	}
}
