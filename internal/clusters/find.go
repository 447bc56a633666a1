// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"

	"github.com/rke-lm/rke-lm/internal/planfolder"
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

	Reached func(Progress) // called after each step; nil for none
}

// Files calls work for every cluster in the paths, on all cores, and yields
// what comes of it in the order of the documents, and the end of every source
// that held a cluster or an error. An error of one does not keep others from being read.
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
		found, more := f.gather(ctx, sources, work, yield, !f.Apart)
		if err == nil && !found && more && !f.Unknown && ctx.Err() == nil {
			yield(failed(f.none(sources)))
		}
	}
}

// From does the same for sources. It is no error if they hold no cluster.
func (f Finder) From(ctx context.Context, sources []source.Source, work Work) iter.Seq[Result] {
	return func(yield func(Result) bool) { f.gather(ctx, sources, work, yield, false) }
}

// gather yields what comes of sources, and compares their clusters where that is asked for. It reports
// whether there was a cluster or an error, and whether more results are wanted.
func (f Finder) gather(ctx context.Context, sources []source.Source, work Work, yield func(Result) bool, compare bool) (found, more bool) {
	at := Progress{Sources: len(sources)}
	at.report(f.Reached)
	pieces, err := f.read(ctx, sources)
	opened := slices.Collect(InOrder(ctx, pieces, f.work))
	if ctx.Err() != nil {
		return false, false
	}
	if err != nil {
		return true, yield(failed(err))
	}
	known := transform.Places[described]{}
	g := gathering{Finder: f, folders: NewFolders(sources, f.together()), groups: map[string]*gathered{}}
	var plans []*Saved
	for _, r := range opened {
		if compare {
			for _, key := range r.known.of {
				known.Add(key, r.known.place)
			}
		}
		if r.saved != nil {
			plans = append(plans, r.saved)
		}
		g.see(r)
	}
	if len(plans) > 0 && !yield(Result{Saved: plans}) {
		return false, false
	}
	for _, r := range opened {
		g.take(r)
	}
	on := func(r Result) Result {
		if r.of != nil && r.err == nil {
			r.err = transform.Guard(r.place(), func() (err error) {
				r.show, err = f.on(*r.of, known, work)
				return err
			})
			r.of = nil
		}
		return r
	}
	for r := range InOrder(ctx, g.results, on) {
		if !yield(r) {
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

// work opens a document.
func (f Finder) work(p piece) Result {
	r := Result{piece: p}
	utf16 := bytes.HasPrefix(p.chunk.Bytes, []byte("\xfe\xff")) || bytes.HasPrefix(p.chunk.Bytes, []byte("\xff\xfe")) // libraries differ in what they read of it
	open := func() (err error) {
		if p.source.Values {
			r.values, err = transform.Parse(p.chunk)
			return err
		}
		if !p.words && !p.source.Named && !utf16 && !f.applied(p.chunk.Bytes) {
			return nil
		}
		doc, c, err := f.Open(p.chunk)
		switch {
		case err != nil:
			return err
		case c.Docs != nil:
			r.cluster, c.Sources, r.of = true, []source.Source{p.source}, &c
			r.known = f.names(c)
		case f.related(doc):
			r.seen = doc
		}
		return nil
	}
	if !p.end {
		r.err = transform.Guard(p.place(), open)
	}
	if r.err != nil && !p.source.Values {
		r.marked = true
		_ = transform.Guard(p.place(), func() error { // a text whose budget is spent may be meant for one
			r.marked = utf16 || f.meant(p.chunk.Bytes) || f.applied(p.chunk.Bytes)
			return nil
		})
	}
	if !r.cluster && !r.marked && r.seen == nil && !p.source.Values && filepath.Base(p.source.Name) != planfolder.PlanFile {
		r.Form = forms.Find(p.source.Name, p.chunk.Bytes, p.chunk.Line+1)
	}
	return r
}

// on calls work for a cluster, once it is known what overlays make of its documents, and where else
// it is described.
func (f Finder) on(c Cluster, known transform.Places[described], work Work) (func() error, error) {
	for i, doc := range c.Docs {
		use := f.Overlays.Use(c.Sources[i])
		c.Uses = append(c.Uses, use)
		c.Patch = c.Patch || len(use.Roots) == 0
		if c.overlaid == nil {
			c.overlaid = kustomize.Evaluate(doc, use)
		}
	}
	n := f.names(c)
	for _, key := range slices.Backward(n.of) {
		if other := known.Other(key, n.place); other != "" {
			c.twin, c.together = other, key.root != ""
			break
		}
	}
	return work(c)
}

// described is a cluster as it is known by its name: in all files, and in what is applied together.
type described struct {
	transform.Identity
	root string // a folder, kustomization, bundle or stream; "" for all files
}

// names are what a document is known by, and its place.
type names struct {
	of    []described
	place string
}

// names returns what a cluster is known by. The name of a manifest is that of an object, which each
// cluster may have: it counts where several folders are applied together.
func (f Finder) names(c Cluster) (n names) {
	use := f.Overlays.Use(c.Sources[0])
	id, roots := c.Distro.Identify(c.Docs[0]), use.Roots
	n.place = fmt.Sprintf("%s:%d", c.Docs[0].File(), c.Docs[0].Root().Line())
	switch {
	case id.Name == "" || len(roots) == 0:
		return n
	case c.Distro.Span.Several:
		roots = roots[1:]
	default:
		n.of = []described{{Identity: use.Named(id)}}
	}
	for _, root := range roots {
		n.of = append(n.of, described{use.Named(id), root})
	}
	return n
}
