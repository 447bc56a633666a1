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

// gathering holds documents until the last one of their folder was read.
type gathering struct {
	Finder
	folders Folders
	groups  map[string]*gathered // by folder
	handle  Work
	yield   func(Result) bool

	waits bool  // this source holds a document of a cluster that may have others
	saw   bool  // this source holds a document that rules read
	met   bool  // this source held a cluster or an error
	first error // of the first document of this source, which is none of a distro
	found bool  // any source held a cluster or an error
}

// gathered is what is held of a folder.
type gathered struct {
	groups []*Group          // of one distro each, in the order of their first documents
	seen   []Result          // documents that rules read
	ends   []Result          // of sources that wait
	shared [][]source.Source // the sources of each cluster, which end together
	unused []Result          // ends of sources that hold nothing but documents that rules read
	unread string            // place of a document that could not be read; "" for none

	linked bool     // a flag is of one cluster
	values []Result // its documents
	failed bool     // it cannot be read
}

// add takes a document that may have others in its cluster.
func (held *gathered) add(c *Cluster, r Result) {
	i := slices.IndexFunc(held.groups, func(g *Group) bool { return g.distro.Name == c.Distro.Name })
	if i < 0 {
		i, held.groups = len(held.groups), append(held.groups, NewGroup(c.Distro))
	}
	held.groups[i].Add(c.Docs[0], r.source)
}

// full reports whether no more documents of a distro are held.
func (held *gathered) full(d transform.Distro) bool {
	return slices.ContainsFunc(held.groups, func(g *Group) bool { return g.distro.Name == d.Name && len(g.docs) == MaxDocuments })
}

// see takes a document that rules read. Beyond MaxDocuments none is kept.
func (held *gathered) see(r Result) {
	if len(held.seen) < MaxDocuments {
		held.seen = append(held.seen, r)
	}
}

func (g *gathering) of(source int) *gathered {
	folder := g.folders.Of(source)
	if g.groups[folder] == nil {
		g.groups[folder] = &gathered{}
	}
	return g.groups[folder]
}

// take takes the results in the order of the documents, and reports whether more are
// wanted.
func (g *gathering) take(r Result) bool {
	if r.source.Values {
		return g.takeValues(r)
	}
	if r.Form.File != "" && !g.yield(Result{Form: r.Form}) {
		return false
	}
	switch {
	case r.end:
		if r.err = g.ending(r.piece, g.met, g.first); r.err != nil && g.saw && !g.met {
			g.of(r.number).unused = append(g.of(r.number).unused, r)
			r.err = nil
		}
	case r.seen != nil:
		g.saw = true
		g.of(r.number).see(r)
		return true
	case !r.cluster && !r.marked:
		if g.first == nil {
			g.first = r.err
		}
		return true
	}
	if r.reads && g.Only == "" && g.of(r.number).full(r.joins.Distro) {
		r.show, r.err = g.on(*r.joins, g.handle) // a stream has no end: without what rules read
		r.joins = nil
	}
	if !r.end && r.err != nil && g.mayJoin(r.chunk.Bytes) {
		g.of(r.number).unread = r.place()
	}
	g.met = g.met || r.cluster || r.err != nil
	g.found = g.found || g.met
	switch {
	case r.joins != nil:
		g.waits = true
		held := g.of(r.number)
		held.linked = held.linked || g.together()
		held.add(r.joins, r)
		return true
	case !r.end:
		return !g.met || g.yield(r)
	}
	more := g.ended(r)
	g.waits, g.saw, g.met, g.first = false, false, false, nil
	return more
}

// ended passes the end of a source on. It waits where a cluster may have more documents
// in other sources.
func (g *gathering) ended(r Result) bool {
	held := g.of(r.number)
	if g.met {
		r.Ended = []File{r.file()}
		if g.waits {
			held.ends = append(held.ends, r)
		} else if !g.yield(r) {
			return false
		}
	}
	return !g.folders.Ends(r.number) || g.complete(r.number)
}

// complete passes on the clusters of a folder, after its last source, and then the ends of the
// sources that waited: as one where a cluster has documents in several.
func (g *gathering) complete(number int) bool {
	held := g.of(number)
	delete(g.groups, g.folders.Of(number))
	switch {
	case held.linked:
		return g.link(held) && g.ends(held)
	case len(held.groups) == 0:
		return g.notUsed(held.unused)
	}
	for _, group := range held.groups {
		for _, seen := range held.seen {
			group.See(seen.seen, seen.source)
		}
		if !g.clusters(group, held) {
			return false
		}
	}
	return g.ends(held)
}

// ends passes on the ends of sources that waited.
func (g *gathering) ends(held *gathered) bool {
	for len(held.ends) > 0 {
		if !g.yield(held.end()) {
			return false
		}
	}
	return true
}

// notUsed says of named sources that they hold no cluster, and of none that a cluster has
// documents in them either.
func (g *gathering) notUsed(ends []Result) bool {
	for _, r := range ends {
		g.found = true
		r.Ended = []File{r.file()}
		r.err = g.ending(r.piece, false, nil)
		if !g.yield(r) {
			return false
		}
	}
	return true
}

// clusters works on the clusters of a folder, and reports whether more are wanted.
func (g *gathering) clusters(group *Group, held *gathered) bool {
	all, err := group.Clusters()
	if err != nil {
		held.shared = append(held.shared, group.Sources())
		r := resultOf(group.First())
		r.err = err
		return g.yield(r)
	}
	for _, c := range all {
		held.shared = append(held.shared, c.Sources)
		if held.unread != "" && c.Distro.Span.Several {
			c.unread = c.Docs[0].Root().Errorf(held.unread+" cannot be read, and may describe the same cluster, so the order of the stages is not known", "correct that document first, or move it to another folder")
		}
		r := resultOf(c.Docs[0], c.Sources[0])
		r.err = transform.Guard(r.place(), func() (err error) {
			r.show, err = g.on(c, g.handle)
			return err
		})
		if !g.yield(r) {
			return false
		}
	}
	return true
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
