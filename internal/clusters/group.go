// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// MaxDocuments is how many documents of one folder may describe one cluster. No cluster
// has as many; it bounds what is held.
const MaxDocuments = 1000

// Group is the documents of one folder, or of one stream, that may describe one cluster.
type Group struct {
	distro  transform.Distro
	docs    []*yamledit.Document
	sources map[*yamledit.Document]source.Source
	beside  []*yamledit.Document
	more    *yamledit.Document // the first beyond MaxDocuments
}

// Add takes a document of a distro.
func (g *Group) Add(d transform.Distro, doc *yamledit.Document, s source.Source) {
	if g.sources == nil {
		g.distro, g.sources = d, map[*yamledit.Document]source.Source{}
	}
	if len(g.docs) == MaxDocuments {
		g.more = doc
		return
	}
	g.docs, g.sources[doc] = append(g.docs, doc), s
}

// See takes a document that rules read. Beyond MaxDocuments none is kept.
func (g *Group) See(doc *yamledit.Document) {
	if len(g.beside) < MaxDocuments {
		g.beside = append(g.beside, doc)
	}
}

// Empty reports whether no document may describe a cluster.
func (g *Group) Empty() bool { return g == nil || len(g.docs) == 0 }

// First is the document that was added first.
func (g *Group) First() (*yamledit.Document, source.Source) {
	return g.docs[0], g.sources[g.docs[0]]
}

// Cluster returns the cluster of the group. It fails with *transform.Refused where its
// documents describe several.
func (g *Group) Cluster() (Cluster, error) {
	if g.more != nil {
		return Cluster{}, g.more.Root().Errorf(fmt.Sprintf("more than %d manifests of controller managers are in one folder or stream", MaxDocuments), "put the manifests of each cluster into a folder of their own")
	}
	docs, err := g.distro.Span.Gather(g.docs)
	if err != nil {
		return Cluster{}, err
	}
	c := Cluster{Distro: g.distro, Docs: docs, Beside: g.beside}
	for _, doc := range docs {
		c.Sources = append(c.Sources, g.sources[doc])
	}
	return c, nil
}
