// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Group is the documents of one folder, or of one stream, that may describe clusters of
// one distro together.
type Group struct {
	distro  transform.Distro
	docs    []*yamledit.Document
	related []*yamledit.Document
	sources map[*yamledit.Document]source.Source
}

// NewGroup returns the empty group of a distro.
func NewGroup(d transform.Distro) *Group {
	return &Group{distro: d, sources: map[*yamledit.Document]source.Source{}}
}

// Add takes a document of the distro.
func (g *Group) Add(doc *yamledit.Document, s source.Source) {
	g.docs, g.sources[doc] = append(g.docs, doc), s
}

// See takes a document that rules read.
func (g *Group) See(doc *yamledit.Document, s source.Source) {
	g.related, g.sources[doc] = append(g.related, doc), s
}

// First is the document that was added first.
func (g *Group) First() (*yamledit.Document, source.Source) {
	return g.docs[0], g.sources[g.docs[0]]
}

// Sources are those of the documents that were added, one for each.
func (g *Group) Sources() []source.Source {
	sources := make([]source.Source, len(g.docs))
	for i, doc := range g.docs {
		sources[i] = g.sources[doc]
	}
	return sources
}

// Clusters returns the clusters of the group. It fails with *transform.Refused where
// nothing shows which documents are of which cluster.
func (g *Group) Clusters() ([]Cluster, error) {
	gathered, err := g.distro.Span.Gather(g.docs, g.related)
	if err != nil {
		return nil, err
	}
	all := make([]Cluster, len(gathered))
	for i, docs := range gathered {
		all[i] = Cluster{Distro: g.distro, Docs: docs, Related: g.related}
		for _, doc := range docs {
			all[i].Sources = append(all[i].Sources, g.sources[doc])
		}
	}
	return all, nil
}
