// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The parts that documents have in a cluster. One of each manager, and one
// configuration of kubeadm; kubelets may have any number.
const (
	partManager = iota // kube-controller-manager
	partKubeadm        // the configuration from which kubeadm writes it
	partCloud          // cloud-controller-manager
	partKubelet        // the arguments of kubelets of new nodes
)

var partNames = []string{partManager: kubeManager, partKubeadm: kindConfiguration, partCloud: cloudManager}

// part returns the part that a document has.
func part(doc *yamledit.Document) int {
	switch kind := kindOf(doc); {
	case kind == kindConfiguration:
		return partKubeadm
	case registers(kind):
		return partKubelet
	case programs(podOf(doc.Root(), kind))[0].component == cloudManager:
		return partCloud
	}
	return partManager
}

// group puts the manifests of one folder, or of one stream, in the order of their
// parts. Two clusters in one folder are refused: nothing tells which manager belongs to
// which.
func group(docs, _ []*yamledit.Document) ([][]*yamledit.Document, error) {
	docs = slices.Clone(docs)
	slices.SortStableFunc(docs, func(a, b *yamledit.Document) int { return cmp.Compare(part(a), part(b)) })
	for i, doc := range docs[1:] {
		if before := docs[i]; part(doc) == part(before) && part(doc) != partKubelet {
			return nil, twoClusters(doc, before, "a second "+partNames[part(doc)])
		}
	}
	return [][]*yamledit.Document{docs}, sameCluster(docs)
}

// sameCluster refuses documents that name different clusters. A manager without
// --cluster-name does not name one.
func sameCluster(docs []*yamledit.Document) error {
	var named *yamledit.Document
	for _, doc := range docs {
		switch name, first := clusterName(doc), named; {
		case name == "":
		case first == nil:
			named = doc
		case name != clusterName(first):
			return twoClusters(doc, first, fmt.Sprintf("the name of another cluster (%s instead of %s)", name, clusterName(first)))
		}
	}
	return nil
}

const clusterFlag = "cluster-name"

// clusterName returns the name that a document has for its cluster, or "".
func clusterName(doc *yamledit.Document) string {
	m := &Manifest{Doc: doc, Root: doc.Root(), Kind: kindOf(doc)}
	switch {
	case m.Kind == kindConfiguration:
		return m.Root.StringAt("clusterName")
	case registers(m.Kind):
		return ""
	}
	p := programs(podOf(m.Root, m.Kind))[0]
	list, err := args.ReadContainer(p.container, p.items)
	if err != nil {
		return "" // refused when the manifest is opened
	}
	return args.Value(list.List(), clusterFlag)
}

// twoClusters names both places.
func twoClusters(doc, other *yamledit.Document, what string) error {
	at := other.Root()
	return transform.NotMigratable(doc.Root(),
		fmt.Sprintf("%s: %s:%d has one as well, so the manifests of two clusters are in one folder or stream", what, other.File(), at.Line()),
		"put the manifests of each cluster into a folder of their own, and copies elsewhere")
}
