// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"io"
	"iter"
	"slices"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Finder finds clusters.
type Finder struct {
	Distros  []transform.Distro // to look for
	Forced   bool               // every document is taken for the first of them
	Apart    bool               // every document is a cluster of its own
	Overlays *source.Overlays   // of the files that are read
	Excluded source.Excluded
	Values   string // the values file of the only cluster; "" for none
	Only     string // the flag that is of one cluster, so that a second one is refused; "" for none
	Configs  bool   // what shows the names of machines is read as well
	Unknown  bool   // files without a cluster are passed over, also if they are named

	known *twins // in the files of the run

	Reached func(Progress) // called after each step; nil for none
}

// Files calls work for every cluster in the paths, on all cores, and yields
// what comes of it in the order of the documents, and the end of every source
// that held a cluster or an error. Nothing is kept of them, so files may be more
// than memory holds. An error of one does not keep others from being read.
func (f Finder) Files(ctx context.Context, paths []string, stdin io.Reader, work Work) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		sources, err := source.Find(paths, stdin, f.Excluded)
		for i := range sources {
			sources[i].Named = sources[i].Named && !f.Unknown
		}
		if err != nil && !yield(failed(err)) {
			return
		}
		sources, valuesErr := f.withValues(sources)
		if valuesErr != nil {
			yield(failed(valuesErr))
			return
		}
		if !f.Apart {
			f.known = f.twins(ctx, sources)
		}
		found, more := f.gather(ctx, sources, work, yield)
		if err == nil && !found && more && !f.Unknown && ctx.Err() == nil {
			yield(failed(f.none(sources)))
		}
	}
}

// From does the same for sources. It is no error if they hold no cluster.
func (f Finder) From(ctx context.Context, sources []source.Source, work Work) iter.Seq[Result] {
	return func(yield func(Result) bool) { f.gather(ctx, sources, work, yield) }
}

// gather yields what comes of sources. It reports whether there was a cluster or an error,
// and whether more results are wanted.
func (f Finder) gather(ctx context.Context, sources []source.Source, work Work, yield func(Result) bool) (found, more bool) {
	g := gathering{Finder: f, folders: NewFolders(sources, f.together()), groups: map[string]*gathered{}, handle: work, yield: yield}
	at := Progress{Sources: len(sources)}
	at.report(f.Reached)
	for r := range InOrder(ctx, f.scan(sources), piece.size, func(p piece) Result { return f.work(p, work) }) {
		if !g.take(r) {
			return g.found, false
		}
		at.add(r)
		at.report(f.Reached)
	}
	return g.found, true
}

// Shared reports whether a text may be of a cluster with documents in several files, or of
// a document that the rules of one read.
func (f Finder) Shared(text []byte) bool {
	return yamledit.Disguised(text) || slices.ContainsFunc(f.Distros, func(d transform.Distro) bool {
		return !f.Apart && d.Span.Several && d.Words.In(text) || d.Span.Related.Words.In(text) || f.Configs && d.Span.Configs.Words.In(text)
	})
}

// together reports whether a flag other than that of a values file is of one cluster.
func (f Finder) together() bool { return f.Only != "" && f.Values == "" }

// work opens a document, and calls work if it is a cluster.
func (f Finder) work(p piece, work Work) Result {
	r := Result{piece: p}
	open := func() (err error) {
		if p.source.Values {
			r.values, err = transform.Parse(p.chunk)
			return err
		}
		if !p.words && !p.source.Named && !f.applied(p.chunk.Bytes) {
			return nil
		}
		doc, c, err := f.Open(p.chunk)
		switch {
		case err != nil:
			r.marked = f.meant(p.chunk.Bytes) || f.applied(p.chunk.Bytes)
			return err
		case c.Docs == nil:
			if f.related(doc) {
				r.seen = doc
			}
			return nil
		}
		r.cluster, c.Sources = true, []source.Source{p.source}
		r.reads = !f.Apart && f.Configs && len(c.Distro.Span.Configs.Kinds) > 0 && !c.Distro.Span.Joins(c.Docs[0])
		if f.Only != "" || r.reads || !f.Apart && c.Distro.Span.Joins(c.Docs[0]) {
			r.joins = &c
			return nil
		}
		r.show, err = f.on(c, work)
		return err
	}
	if !p.end {
		r.err = transform.Guard(p.place(), open)
	}
	if !r.cluster && !r.marked && r.seen == nil && !p.source.Values {
		r.Form = forms.Find(p.source.Name, p.chunk.Bytes, p.chunk.Line+1)
	}
	return r
}

// on calls work for a cluster, once it is known what overlays make of its documents, and where else
// it is described.
func (f Finder) on(c Cluster, work Work) (func() error, error) {
	for i, doc := range c.Docs {
		use := f.Overlays.Use(c.Sources[i])
		c.Uses = append(c.Uses, use)
		c.Patch = c.Patch || len(use.Roots) == 0
		if c.overlaid == nil {
			c.overlaid = kustomize.Evaluate(doc, use)
		}
	}
	c.twin, c.together = f.known.find(f.names(c))
	return work(c)
}
