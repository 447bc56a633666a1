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
	chunk  yamledit.Chunk
	marked bool // the text holds a distro's marker
	end    bool
	stats  source.Stats // at the end
	err    error        // of the scan, at the end
}

// found is a document that describes a cluster.
type found struct {
	distro transform.Distro
	docs   []*yamledit.Document // the one that names the cluster first
	source source.Source
	live   *liveCluster // nil for a file
	// overlaid refuses a document that kustomizations or Fleet change; nil for others.
	overlaid error
}

// refusal is what keeps a document from being planned, unless the operator accepts it.
func (f found) refusal(t transform.Target) error {
	if slices.Contains(t.Accept, rules.ChangedByOverlay.ID) {
		return nil
	}
	return f.overlaid
}

// result is what came of a document, or the end of a source.
type result struct {
	piece
	cluster bool
	show    func() error // what is left to do, in the order of the documents
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
		for r := range inOrder(ctx, o.scan(sources), piece.size, func(p piece) result { return o.work(p, work) }) {
			switch {
			case r.end:
				r.err = o.ending(r.piece, met, first)
			case !r.cluster && !r.marked && first == nil:
				first = r.err
				continue
			}
			met = met || r.cluster || r.err != nil
			none = none && !met
			if met && !yield(r) {
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
func failed(err error) result { return result{piece: piece{end: true, err: err}} }

// sources finds what the paths name; what was found is returned with an error.
func (o *options) sources(paths []string) ([]source.Source, error) {
	if len(paths) == 0 {
		return nil, errors.New("no path is given; name a file, a folder, or - for standard input")
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
		for _, s := range sources {
			count, marked, more := 0, false, true
			wanted := func(text []byte) bool {
				count++
				marked = o.wanted(text)
				return marked || s.Named && count == 1
			}
			stats, err := s.Scan(wanted, func(c yamledit.Chunk) error {
				for _, item := range yamledit.Items(c) {
					if more = yield(piece{source: s, chunk: item, marked: marked}); !more {
						return context.Canceled
					}
				}
				return nil
			})
			if !more || !yield(piece{source: s, end: true, stats: stats, err: err}) {
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
		if err != nil || f.docs == nil {
			return err
		}
		r.cluster, f.source = true, p.source
		f.overlaid = kustomize.Judge(f.docs[0], o.overlays.Use(p.source))
		r.show, err = work(f)
		return err
	})
	return r
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
	return &failure{code: exitcode.Refused, err: fmt.Errorf("%s: a kustomization, and no cluster by itself; plan what it makes: %s", s.Name, kustomize.Rendered(filepath.Dir(s.Path)))}
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
