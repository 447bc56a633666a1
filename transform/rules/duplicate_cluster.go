// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// DuplicateCluster refuses a document where another place describes the same cluster, and both are
// applied together; package clusters finds the places.
var DuplicateCluster = transform.Rule{
	ID: transform.RuleDuplicate, Severity: transform.Error, Acceptable: true,
	Doc: "Refused, with exit code 1: one file, folder, kustomization or bundle of Fleet describes a cluster with the same namespace and name twice. A warning where they are in different folders, which may be of different Ranchers.",
}

// Described refuses a document whose cluster another place describes as well.
func Described(doc *yamledit.Document, id transform.Identity, other string) *transform.Refused {
	return transform.Refuse(DuplicateCluster.ID, doc.Root(), id.Title()+" is described in "+other+" as well, and the one that is applied last overwrites the other",
		"remove one of them, or correct its name; to keep both, use --accept "+DuplicateCluster.ID)
}
