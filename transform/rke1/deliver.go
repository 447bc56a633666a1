// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// deliver reports how a cluster's file gets to work. RKE keeps the cluster's state,
// certificates included, in a file next to the cluster.yml and named like it: a
// copy elsewhere would be taken for a new cluster. So no command names a copy.
func deliver(doc *yamledit.Document, _ string) transform.Delivery {
	if isValues(doc) {
		return transform.Delivery{How: "the release of Helm, as in the\nnext step."}
	}
	if _, _, wrapped := configOf(doc.Root()); wrapped {
		d := transform.Delivery{How: "Rancher as\nusual: with the tool that manages the cluster, or with Edit as YAML of the cluster.", Rancher: true}
		if r := transform.ResourceOf(doc); r == "clusters.management.cattle.io" {
			d.Resource = r // other files hold the configuration as well, and no API server has those
		}
		return d
	}
	return transform.Delivery{How: "the cluster, as in the\nnext step, with its .rkestate file next to it."}
}

// fileOf is the file of a cluster; a stream has none, and gets RKE's usual
// name.
func fileOf(doc *yamledit.Document) string {
	if strings.HasPrefix(doc.File(), "<") {
		return "cluster.yml"
	}
	return doc.File()
}

// taken waits until the cluster has taken the document over.
func (m *migration) taken() action.Action {
	if m.Wrapped {
		return action.ClusterUpdated()
	}
	return action.RKEUp(fileOf(m.Doc))
}
