// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"

	"github.com/rke-lm/rke-lm/transform"
)

// gathering holds documents until the last one of their folder was read.
type gathering struct {
	Finder
	folders Folders
	groups  map[string]*gathered // by folder
	handle  Work
	yield   func(Result) bool

	met   bool  // this source held a cluster or an error
	first error // of the first document of this source, which is none of a distro
	found bool  // any source held a cluster or an error
}

// gathered is what is held of a folder.
type gathered struct {
	Group
	ends   []Result // of its sources, which end together
	unread string   // place of a document that could not be read; "" for none
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
	switch {
	case r.end:
		r.err = g.ending(r.piece, g.met, g.first)
	case r.seen != nil:
		g.of(r.number).See(r.seen)
		return true
	case !r.cluster && !r.marked && g.first == nil:
		g.first = r.err
		return true
	case !r.cluster && !r.marked && r.beside:
		return true // what cannot be read beside a cluster is not there
	}
	if !r.end && r.err != nil && g.mayJoin(r.chunk.Bytes) {
		g.of(r.number).unread = r.place()
	}
	g.met = g.met || r.cluster || r.err != nil
	g.found = g.found || g.met
	switch {
	case r.joins != nil:
		g.of(r.number).Add(r.joins.Distro, r.joins.Docs[0], r.source)
		return true
	case !r.end:
		return !g.met || g.yield(r)
	}
	more := g.ended(r)
	g.met, g.first = false, nil
	return more
}

// ended passes the end of a source on. It waits where a cluster may have more documents
// in other sources; with the last one of the folder comes the cluster, and then the ends
// of all of them, as one.
func (g *gathering) ended(r Result) bool {
	held := g.of(r.number)
	if g.met {
		r.Ended = []File{r.file()}
		if !held.Empty() {
			held.ends = append(held.ends, r)
		} else if !g.yield(r) {
			return false
		}
	}
	if !g.folders.Ends(r.number) {
		return true
	}
	delete(g.groups, g.folders.Of(r.number))
	return held.Empty() || g.yield(g.cluster(held)) && g.yield(held.end())
}

// cluster works on the cluster of a folder.
func (g *gathering) cluster(held *gathered) Result {
	doc, from := held.First()
	r := Result{cluster: true, piece: piece{source: from, chunk: doc.Chunk(), marked: true}}
	r.err = transform.Guard(r.place(), func() error {
		c, err := held.Cluster()
		if err != nil {
			return err
		}
		if held.unread != "" {
			c.unread = c.Docs[0].Root().Errorf(held.unread+" cannot be read, and may describe the same cluster, so the order of the stages is not known", "correct that document first, or move it to another folder")
		}
		r.show, err = g.on(c, g.handle)
		return err
	})
	return r
}

// end is that of all sources that waited for each other.
func (held *gathered) end() Result {
	last := held.ends[len(held.ends)-1]
	last.Ended = nil
	var errs []error
	for _, e := range held.ends {
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
