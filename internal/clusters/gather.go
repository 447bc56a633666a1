// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"slices"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// gathering puts the results of documents in order: those of a cluster wait for the last document
// of their folder.
type gathering struct {
	Finder
	folders Folders
	groups  map[string]*gathered // by folder
	results []Result

	waits bool  // this source holds a document of a cluster that may have others
	saw   bool  // this source holds a document that rules read
	met   bool  // this source held a cluster or an error
	first error // of the first document of this source, which is none of a distro
	found bool  // any source held a cluster or an error
}

// gathered is what is held of a folder.
type gathered struct {
	groups []*Group             // of one distro each, in the order of their first documents
	seen   []*yamledit.Document // that rules read
	from   []source.Source      // of each of them
	ends   []Result             // of sources that wait
	shared [][]source.Source    // the sources of each cluster, which end together
	unused []Result             // ends of sources that hold nothing but documents that rules read
	used   bool                 // a cluster that waits for no other document has them
	unread string               // place of a document that could not be read; "" for none

	linked bool     // a flag is of one cluster
	values []Result // its documents
	failed bool     // it cannot be read
}

// add takes a document that may have others in its cluster.
func (held *gathered) add(c *Cluster, r Result) {
	i := slices.IndexFunc(held.groups, func(g *Group) bool { return g.distro.Name == c.Distro.Name })
	if i < 0 {
		i, held.groups = len(held.groups), append(held.groups, NewGroup(c.Distro))
		for i, doc := range held.seen {
			held.groups[len(held.groups)-1].See(doc, held.from[i])
		}
	}
	held.groups[i].Add(c.Docs[0], r.source)
}

// see takes what rules read, before any cluster is taken.
func (g *gathering) see(r Result) {
	if r.seen != nil {
		held := g.of(r.number)
		held.seen, held.from = append(held.seen, r.seen), append(held.from, r.source)
	}
}

func (g *gathering) of(source int) *gathered {
	folder := g.folders.Of(source)
	if g.groups[folder] == nil {
		g.groups[folder] = &gathered{}
	}
	return g.groups[folder]
}

// take takes the results in the order of the documents.
func (g *gathering) take(r Result) {
	if r.source.Values {
		g.takeValues(r)
		return
	}
	if r.Form.File != "" {
		g.results = append(g.results, Result{Form: r.Form})
	}
	switch {
	case r.end:
		if r.err = g.ending(r.piece, g.met, g.first); r.err != nil && g.saw && !g.met {
			g.of(r.number).unused = append(g.of(r.number).unused, r)
			r.err = nil
		}
	case r.seen != nil:
		g.saw = true
		return
	case !r.cluster && !r.marked:
		if g.first == nil {
			g.first = r.err
		}
		return
	}
	if !r.end && r.err != nil && g.mayJoin(r.chunk.Bytes) {
		g.of(r.number).unread = r.place()
	}
	g.met = g.met || r.cluster || r.err != nil
	g.found = g.found || g.met
	switch {
	case r.end:
		g.ended(r)
		g.waits, g.saw, g.met, g.first = false, false, false, nil
	case r.of != nil && (g.Only != "" || !g.Apart && r.of.Distro.Span.Joins(r.of.Docs[0])):
		g.waits = true
		held := g.of(r.number)
		held.linked = held.linked || g.together()
		held.add(r.of, r)
	case g.met:
		if r.of != nil && !g.Apart && g.Configs {
			held := g.of(r.number)
			r.of.Related, held.used = held.seen, true
		}
		g.results = append(g.results, r)
	}
}

// ended passes the end of a source on. It waits where a cluster may have more documents
// in other sources.
func (g *gathering) ended(r Result) {
	held := g.of(r.number)
	if g.met {
		r.Ended = []source.Text{r.text}
		if g.waits {
			held.ends = append(held.ends, r)
		} else {
			g.results = append(g.results, r)
		}
	}
	if g.folders.Ends(r.number) {
		g.complete(held)
	}
}

// complete passes on the clusters of a folder, after its last source, and then the ends of the
// sources that waited: as one where a cluster has documents in several.
func (g *gathering) complete(held *gathered) {
	switch {
	case held.linked:
		g.link(held)
	case len(held.groups) == 0:
		if !held.used {
			g.notUsed(held.unused)
		}
		return
	default:
		for _, group := range held.groups {
			g.clusters(group, held)
		}
	}
	for len(held.ends) > 0 {
		g.results = append(g.results, held.end())
	}
}

// notUsed says of named sources that they hold no cluster, and of none that a cluster has
// documents in them either.
func (g *gathering) notUsed(ends []Result) {
	for _, r := range ends {
		g.found = true
		r.Ended = []source.Text{r.text}
		r.err = g.ending(r.piece, false, nil)
		g.results = append(g.results, r)
	}
}

// clusters passes on the clusters of a folder.
func (g *gathering) clusters(group *Group, held *gathered) {
	var all []Cluster
	err := transform.Guard(group.docs[0].File(), func() (err error) {
		all, err = group.Clusters()
		return err
	})
	if err != nil {
		held.shared = append(held.shared, group.Sources())
		r := resultOf(group.First())
		r.err = err
		g.results = append(g.results, r)
		return
	}
	for _, c := range all {
		held.shared = append(held.shared, c.Sources)
		if held.unread != "" && c.Distro.Span.Several {
			c.unread = c.Docs[0].Root().Errorf(held.unread+" cannot be read, and may describe the same cluster, so the order of the stages is not known", "correct that document first, or move it to another folder")
		}
		r := resultOf(c.Docs[0], c.Sources[0])
		r.of = &c
		g.results = append(g.results, r)
	}
}

// resultOf is that of a cluster, which a document names.
func resultOf(doc *yamledit.Document, from source.Source) Result {
	return Result{cluster: true, piece: piece{source: from, chunk: doc.Chunk(), marked: true}}
}

// end takes the end of the first source that waits, with those of all sources that share
// a cluster with it.
func (held *gathered) end() Result {
	together := map[string]bool{held.ends[0].source.Name: true}
	for more := true; more; {
		more = false
		for _, sources := range held.shared {
			if !slices.ContainsFunc(sources, func(s source.Source) bool { return together[s.Name] }) {
				continue
			}
			for _, s := range sources {
				waits := slices.ContainsFunc(held.ends, func(e Result) bool { return e.source.Name == s.Name })
				more = more || waits && !together[s.Name]
				together[s.Name] = together[s.Name] || waits
			}
		}
	}
	ends := slices.Clone(held.ends)
	held.ends = slices.DeleteFunc(held.ends, func(e Result) bool { return together[e.source.Name] })
	return joined(slices.DeleteFunc(ends, func(e Result) bool { return !together[e.source.Name] }))
}

// joined makes one end of several.
func joined(ends []Result) Result {
	last := ends[len(ends)-1]
	last.Ended = nil
	var errs []error
	for _, e := range ends {
		last.Ended = append(last.Ended, e.Ended...)
		if e.err != nil {
			errs = append(errs, e.err)
		}
	}
	if last.err = errors.Join(errs...); len(errs) == 1 {
		last.err = errs[0]
	}
	return last
}
