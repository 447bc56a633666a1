// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// What a Format does where it has nothing of its own.

// OneDocument is the Grouping of a format whose clusters have one document each.
func OneDocument() Grouping {
	return Grouping{
		MayGroup: func(*yamledit.Document) bool { return false },
		Group: func(docs, _ []*yamledit.Document) ([][]*yamledit.Document, error) {
			return lists.Map(docs, Only), nil
		},
	}
}

// NoValues is the WithValues of a format whose clusters have no values file of their own; its
// documents hold the chart otherwise.
func NoValues(otherwise string) func([]*yamledit.Document, *yamledit.Document) ([]*yamledit.Document, error) {
	return func(docs []*yamledit.Document, values *yamledit.Document) ([]*yamledit.Document, error) {
		return nil, docs[0].Root().Errorf("only a cluster of RKE takes the values file "+values.File(), "remove --ccm-values; "+otherwise)
	}
}

// ThroughRancher is the Deliver of a format whose documents are objects of Rancher.
func ThroughRancher(doc *yamledit.Document, file string) Delivery {
	return Delivery{
		How: "Rancher as\nusual: commit it, or, if kubectl get printed it, run on Rancher's own cluster (kubectl apply would keep\n" +
			"keys that were removed from the file):",
		Command:  action.Command("kubectl replace -f %s", action.Path(file)),
		Rancher:  true,
		Resource: ResourceOf(doc),
	}
}
