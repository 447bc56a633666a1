// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// MaxDocuments is how many documents of one folder may describe clusters together with
// others. It bounds what is held.
const MaxDocuments = 1000

// Group is the documents of one folder, or of one stream, that may describe clusters of
// one distro together.
type Group struct {
	distro  transform.Distro
	docs    []*yamledit.Document
	related []*yamledit.Document
	sources map[*yamledit.Document]source.Source
	more    *yamledit.Document // the first beyond MaxDocuments
}

// NewGroup returns the empty group of a distro.
func NewGroup(d transform.Distro) *Group {
	return &Group{distro: d, sources: map[*yamledit.Document]source.Source{}}
}

// Add takes a document of the distro.
func (g *Group) Add(doc *yamledit.Document, s source.Source) {
	if len(g.docs) == MaxDocuments {
		g.more = doc
		return
	}
	g.docs, g.sources[doc] = append(g.docs, doc), s
}

// See takes a document that rules read. Beyond MaxDocuments none is kept.
func (g *Group) See(doc *yamledit.Document, s source.Source) {
	if len(g.related) < MaxDocuments {
		g.related, g.sources[doc] = append(g.related, doc), s
	}
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
	if g.more != nil {
		return nil, g.more.Root().Errorf(fmt.Sprintf("more than %d documents of one folder or stream may describe clusters together with others", MaxDocuments), "put the documents of each cluster into a folder of their own")
	}
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
