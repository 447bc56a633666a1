// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
)

// gathering holds documents until the last one of their folder was read.
type gathering struct {
	*options
	folders clusters.Folders
	groups  map[string]*gathered // by folder
}

// gathered is what is held of a folder.
type gathered struct {
	clusters.Group
	ends   []result // of its sources, which end together
	unread string   // place of a document that could not be read; "" for none
}

func (g gathering) of(source int) *gathered {
	folder := g.folders.Of(source)
	if g.groups[folder] == nil {
		g.groups[folder] = &gathered{}
	}
	return g.groups[folder]
}

// pass hands a result on. The end of a source waits where a cluster may have more
// documents in other sources; with the last one of the folder comes the cluster, and
// then the ends of all of them, as one.
func (g gathering) pass(r result, met bool, work func(found) (func() error, error), yield func(result) bool) bool {
	if !r.end {
		return !met || yield(r)
	}
	held := g.of(r.number)
	if met {
		r.ended = []piece{r.piece}
		if held.Empty() {
			if !yield(r) {
				return false
			}
		} else {
			held.ends = append(held.ends, r)
		}
	}
	if !g.folders.Ends(r.number) {
		return true
	}
	delete(g.groups, g.folders.Of(r.number))
	return held.Empty() || yield(g.cluster(held, work)) && yield(held.end())
}

// cluster works on the cluster of a folder.
func (g gathering) cluster(held *gathered, work func(found) (func() error, error)) result {
	doc, from := held.First()
	r := result{cluster: true, piece: piece{source: from, chunk: doc.Chunk(), marked: true}}
	r.err = transform.Guard(r.place(), func() error {
		c, err := held.Cluster()
		if err != nil {
			return err
		}
		f := found{distro: c.Distro, docs: c.Docs, beside: c.Beside, sources: c.Sources}
		if held.unread != "" {
			f.unread = c.Docs[0].Root().Errorf(held.unread+" cannot be read, and may describe the same cluster, so the order of the stages is not known", "correct that document first, or move it to another folder")
		}
		r.show, err = g.on(f, work)
		return err
	})
	return r
}

// end is that of all sources that waited for each other.
func (held *gathered) end() result {
	last := held.ends[len(held.ends)-1]
	last.ended = nil
	var errs []error
	for _, e := range held.ends {
		last.ended = append(last.ended, e.ended...)
		if e.err != nil {
			errs = append(errs, e.err)
		}
	}
	if last.err = errors.Join(errs...); len(errs) == 1 {
		last.err = errs[0]
	}
	return last
}
