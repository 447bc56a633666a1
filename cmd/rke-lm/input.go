// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// piece is what a scan hands on: a document of a source, or its end.
type piece struct {
	source source.Source
	number int // of the source
	chunk  yamledit.Chunk
	marked bool // the text holds a distro's marker
	beside bool // the text is of a document that rules of a distro read
	end    bool
	stats  source.Stats // at the end
	err    error        // of the scan, at the end
}

// found is the documents that describe a cluster.
type found struct {
	distro  transform.Distro
	docs    []*yamledit.Document // the one that names the cluster first
	beside  []*yamledit.Document // that rules read
	sources []source.Source      // for each of docs
	live    *liveCluster         // nil for files
	// overlaid refuses a document that kustomizations or Fleet change; nil for others.
	overlaid error
	// unread refuses documents where another one, which may be of the same cluster, could
	// not be read; nil for others.
	unread error
}

// refusal is what keeps a document from being planned, unless the operator accepts it.
func (f found) refusal(t transform.Target) error {
	if f.unread != nil {
		return f.unread
	}
	if slices.Contains(t.Accept, rules.ChangedByOverlay.ID) {
		return nil
	}
	return f.overlaid
}

// result is what came of a cluster, or the end of sources.
type result struct {
	piece
	cluster bool
	joins   *found             // a document that may be one of several of its cluster
	seen    *yamledit.Document // one that rules read
	ended   []piece            // sources that end here, together where one cluster has documents in them
	show    func() error       // what is left to do, in the order of the documents
}

// clusters calls work for every cluster in the paths, on all cores, and yields
// what comes of it in the order of the documents, and the end of every source
// that held a cluster or an error. Nothing is kept of them: a stream may be
// longer than memory. An error of one does not keep others from being read.
func (o *options) clusters(ctx context.Context, paths []string, work func(found) (show func() error, err error)) iter.Seq[result] {
	if err := o.checkPaths(paths); err != nil {
		return func(yield func(result) bool) { yield(failed(err)) }
	}
	if o.live() {
		return o.liveClusters(ctx, work)
	}
	return func(yield func(result) bool) {
		sources, err := o.sources(paths)
		if err != nil && !yield(failed(err)) {
			return
		}
		none := err == nil
		met, first := false, error(nil) // in this source
		g := gathering{options: o, folders: clusters.NewFolders(sources), groups: map[string]*gathered{}}
		for r := range clusters.InOrder(ctx, o.scan(sources), piece.size, func(p piece) result { return o.work(p, work) }) {
			switch {
			case r.end:
				r.err = o.ending(r.piece, met, first)
			case r.seen != nil:
				g.of(r.number).See(r.seen)
				continue
			case !r.cluster && !r.marked && first == nil:
				first = r.err
				continue
			case !r.cluster && !r.marked && r.beside:
				continue // what cannot be read beside a cluster is not there
			}
			if !r.end && r.err != nil && o.mayJoin(r.chunk.Bytes) {
				g.of(r.number).unread = r.place()
			}
			met = met || r.cluster || r.err != nil
			none = none && !met
			if r.joins != nil {
				g.of(r.number).Add(r.joins.distro, r.joins.docs[0], r.source)
				continue
			}
			if !g.pass(r, met, work, yield) {
				return
			}
			if r.end {
				met, first = false, nil
			}
		}
		if none && ctx.Err() == nil {
			yield(failed(o.none(sources)))
		}
	}
}

// use does what is left to do, and returns the error that there was.
func (r result) use() error {
	if r.show != nil {
		if err := transform.Guard(r.place(), r.show); err != nil {
			return err
		}
	}
	return r.err
}

// failed is an error that concerns no source.
func failed(err error) result {
	p := piece{end: true, err: err}
	return result{piece: p, ended: []piece{p}}
}

// sources finds what the paths name; what was found is returned with an error.
func (o *options) sources(paths []string) ([]source.Source, error) {
	if len(paths) == 0 {
		return nil, errors.New("no path; use a file, a folder, or - for standard input")
	}
	if o.distro != "" {
		if err := checkOneOf("distro", o.distro, distroNames()...); err != nil {
			return nil, err
		}
	}
	return source.Find(paths, o.in)
}

// scan yields the documents worth parsing, and the end of every source. The
// first document of a named one is worth it in any case: if no cluster turns
// up, it says what the file holds instead.
func (o *options) scan(sources []source.Source) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for i, s := range sources {
			count, marked, beside, more := 0, false, false, true
			wanted := func(text []byte) bool {
				count++
				marked = o.wanted(text)
				beside = !marked && o.besides(text)
				return marked || beside || s.Named && count == 1
			}
			stats, err := s.Scan(wanted, func(c yamledit.Chunk) error {
				for _, item := range yamledit.Items(c) {
					if more = yield(piece{source: s, number: i, chunk: item, marked: marked, beside: beside}); !more {
						return context.Canceled
					}
				}
				return nil
			})
			if !more || !yield(piece{source: s, number: i, end: true, stats: stats, err: err}) {
				return
			}
		}
	}
}

func (p piece) size() int { return len(p.chunk.Bytes) }

// work opens a document, and calls work if it is a cluster.
func (o *options) work(p piece, work func(found) (func() error, error)) result {
	r := result{piece: p}
	if p.end {
		return r
	}
	r.err = transform.Guard(p.place(), func() error {
		f, err := o.open(p.chunk)
		if err != nil {
			return err
		}
		if f.docs == nil {
			if p.beside {
				r.seen, err = transform.Parse(p.chunk)
			}
			return err
		}
		r.cluster, f.sources = true, []source.Source{p.source}
		if !o.apart && f.distro.Span.Joins(f.docs[0]) {
			r.joins = &f
			return nil
		}
		r.show, err = o.on(f, work)
		return err
	})
	return r
}

// on calls work for a cluster, once it is known what overlays make of its documents.
func (o *options) on(f found, work func(found) (func() error, error)) (func() error, error) {
	for i, doc := range f.docs {
		if f.overlaid == nil {
			f.overlaid = kustomize.Judge(doc, o.overlays.Use(f.sources[i]))
		}
	}
	return work(f)
}

// place names the document in messages.
func (p piece) place() string {
	switch {
	case p.chunk.Item > 0:
		return fmt.Sprintf("%s:%d: item %d", p.chunk.File, p.chunk.Line+1, p.chunk.Item)
	case p.chunk.Index == 0:
		return p.chunk.File
	}
	return fmt.Sprintf("%s:%d: document %d", p.chunk.File, p.chunk.Line+1, p.chunk.Index+1)
}

// ending returns the error of a source as a whole, behind its last document.
func (o *options) ending(p piece, met bool, first error) error {
	switch {
	case errors.Is(p.err, source.ErrBinary) && !p.source.Named:
		return nil
	case p.err == nil && p.source.Named && !met:
		return o.nothing(p, first)
	}
	return p.err
}

// documents names what a file may hold.
func (o *options) documents() string {
	var names []string
	for _, d := range o.candidates() {
		names = append(names, d.Document)
	}
	return strings.Join(names, " or ")
}

// candidates are the distros to look for.
func (o *options) candidates() []transform.Distro {
	return slices.DeleteFunc(slices.Clone(distros()), func(d transform.Distro) bool { return o.distro != "" && d.Name != o.distro })
}

// wanted is the quick look at a document's text.
func (o *options) wanted(text []byte) bool {
	return slices.ContainsFunc(o.candidates(), func(d transform.Distro) bool { return d.Wants(text) })
}

// mayJoin reports whether a text may be of a cluster with several documents.
func (o *options) mayJoin(text []byte) bool {
	return !o.apart && slices.ContainsFunc(o.candidates(), func(d transform.Distro) bool { return d.Span.Several && d.Wants(text) })
}

// besides reports whether rules of a distro read a document with this text.
func (o *options) besides(text []byte) bool {
	return slices.ContainsFunc(o.candidates(), func(d transform.Distro) bool { return d.Span.Beside(text) })
}

// open parses a document and finds its distro; without one there is no doc.
func (o *options) open(c yamledit.Chunk) (found, error) {
	doc, err := transform.Parse(c)
	if err != nil {
		return found{}, err
	}
	for _, d := range o.candidates() {
		if d.Owns(doc) || o.distro == d.Name && doc.Root().Exists() {
			return found{distro: d, docs: transform.Only(doc)}, nil
		}
	}
	if items := doc.Root().Get("items"); items.IsList() {
		return found{}, items.Errorf("a list of objects that is none of kubectl, or whose items share anchors", "write each cluster as a document of its own, as kubectl get -o yaml NAME prints it")
	}
	if n, isFragment := fragment(doc); isFragment {
		return found{}, transform.NotMigratable(n, "a fragment of a cluster: the document has no kind: Cluster at its root", "name the whole Cluster object")
	}
	return found{}, nil
}

// fragment finds a cluster's configuration outside of a cluster.
func fragment(doc *yamledit.Document) (yamledit.Node, bool) {
	for _, way := range [][]string{{"spec", "rkeConfig"}, {"rkeConfig"}, {"machineGlobalConfig"}, {"machineSelectorConfig"}} {
		if n := doc.Root().Get(way...); n.Exists() {
			return n, true
		}
	}
	return yamledit.Node{}, false
}

// none says that the paths hold no cluster.
func (o *options) none(sources []source.Source) error {
	for _, s := range sources {
		if err := kustomization(s); err != nil {
			return err
		}
	}
	return &failure{code: exitcode.Refused, err: errors.New("no cluster was found; name a file that holds " + o.documents())}
}

// kustomization refuses a kustomization, which makes clusters of other files.
func kustomization(s source.Source) error {
	if !slices.Contains(kustomize.FileNames(), filepath.Base(s.Path)) {
		return nil
	}
	return &failure{code: exitcode.Refused, err: fmt.Errorf("%s: a kustomization, not a cluster; plan its output: %s", s.Name, kustomize.Rendered(filepath.Dir(s.Path)))}
}

// nothing says why a named file has no cluster to work on.
func (o *options) nothing(in piece, first error) error {
	switch {
	case first != nil:
		return first
	case kustomization(in.source) != nil:
		return kustomization(in.source)
	case in.stats.Bytes == 0:
		return &yamledit.Error{File: in.source.Name, What: "the file is empty", Do: "name a file that holds " + o.documents()}
	case in.stats.Oversize > 0:
		documents := "documents"
		if in.stats.Oversize == 1 {
			documents = "document"
		}
		return &failure{code: exitcode.Refused, err: fmt.Errorf("%s: no cluster, and %d %s larger than %d MiB, which no cluster is; name the cluster's own file", in.source.Name, in.stats.Oversize, documents, source.MaxDocument>>20)}
	}
	return &failure{code: exitcode.Refused, err: fmt.Errorf("%s: no cluster in it; name a file that holds %s", in.source.Name, o.documents())}
}

// problem describes an error for programs.
func problem(err error) outputs.Problem {
	p := outputs.Problem{Message: err.Error()}
	var at *yamledit.Error
	if errors.As(err, &at) {
		p.File, p.Line = at.File, at.Line
	}
	var r *transform.Refused
	if errors.As(err, &r) {
		p.Rule = r.Rule
	}
	return p
}
