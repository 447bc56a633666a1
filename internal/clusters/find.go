// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusters finds the clusters of a run, in files, in streams and in a Rancher,
// opens their documents, and writes the files that change.
//
// Invariant: each source is read once, to its end, and its documents are parsed once. They come
// together only where they are in one folder or in one stream; which of them are one cluster is
// decided by their format. Results come in the order of the documents. The files of a cluster are
// checked before the first is written, and each is written as a whole or not at all.
package clusters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Finder finds clusters.
type Finder struct {
	Formats           []transform.Format // to look for
	Forced            bool               // every document is taken for the first of them
	SeparateDocuments bool               // every document is a cluster of its own
	Overlays          *source.Overlays   // of the files that are read
	Excluded          source.Excluded
	Values            string // the values file of the only cluster; "" for none
	Only              string // the flag that is of one cluster, so that a second one is refused; "" for none
	Configs           bool   // what shows the names of machines is read as well
	Unknown           bool   // files without a cluster are passed over, also if they are named
}

// Files finds the clusters in the paths, on all cores. An error of one source does not keep others
// from being read. Nothing is found once ctx has ended.
func (f Finder) Files(ctx context.Context, paths []string, stdin io.Reader) (found Found) {
	sources, err := source.Find(paths, stdin, f.Excluded)
	for i := range sources {
		sources[i].Named = sources[i].Named && !f.Unknown
	}
	failed := lists.If(err != nil, Failed(err))
	if f.Values != "" {
		if sources, err = source.WithValues(sources, f.Values, f.Excluded); err != nil {
			return Found{Results: append(failed, Failed(err))}
		}
	}
	found = f.From(ctx, sources, !f.SeparateDocuments)
	none := !slices.ContainsFunc(found.Results, func(r Result) bool { return r.Docs != nil || r.Err != nil })
	if found.Results = append(failed, found.Results...); failed == nil && none && !f.Unknown && ctx.Err() == nil {
		found.Results = append(found.Results, Failed(f.none(sources)))
	}
	return found
}

// From finds the clusters of sources, and compares them where that is asked for. It is no error if there are none.
func (f Finder) From(ctx context.Context, sources []source.Source, compare bool) (found Found) {
	files, err := f.read(ctx, sources)
	if err != nil {
		return Found{Results: []Result{Failed(err)}}
	}
	known := kustomize.Places{} // none is found in it where nothing is compared
	for _, file := range files {
		found.Documents += file.count
		if file.saved != nil {
			found.Saved = append(found.Saved, file.saved)
		}
		for _, d := range file.docs {
			for _, key := range d.names {
				if compare {
					known.Add(key, d.place)
				}
			}
		}
	}
	found.Results = Each(ctx, 0, f.group(sources, files), func(r Result) Result {
		if r.Docs != nil && r.Err == nil {
			r.Err = transform.Guard(r.Place(), func() error { f.surround(&r.Cluster, known); return nil })
		}
		return r
	})
	return found
}

// surround finds what overlays make of the documents of a cluster, and where else it is described.
func (f Finder) surround(c *Cluster, known kustomize.Places) {
	for i, doc := range c.Docs {
		use := f.Overlays.Use(c.Sources[i])
		c.Uses = append(c.Uses, use)
		c.Patch = c.Patch || len(use.Roots) == 0
		if c.overlaid == nil {
			c.overlaid = kustomize.Evaluate(doc, use)
		}
	}
	names, place := f.names(*c)
	for _, key := range slices.Backward(names) {
		if other := known.Other(key, place); other != "" {
			c.twin, c.together = other, key.Root != ""
			break
		}
	}
}

// Shared reports whether a text may be of a cluster with documents in several files, or of
// a document that the rules of one read.
func (f Finder) Shared(text []byte) bool {
	return yamledit.Disguised(text) || slices.ContainsFunc(f.Formats, func(d transform.Format) bool {
		return !f.SeparateDocuments && d.Grouping.Several && d.Words.In(text) || d.Grouping.Related.Words.In(text) || f.Configs && d.Grouping.Configs.Words.In(text)
	})
}

// names returns what a cluster is known by, and its place.
func (f Finder) names(c Cluster) (of []kustomize.Known, place string) {
	id := c.Format.Identify(c.Docs[0])
	if !yamledit.Placeholder(id.Name) { // names that are filled in may differ
		of = f.Overlays.Use(c.Sources[0]).Known(id, c.Format.Grouping.Several)
	}
	return of, fmt.Sprintf("%s:%d", c.Docs[0].File(), c.Docs[0].Root().Line())
}

// ending is the end of a source, with the error of the source as a whole. A named one without a cluster has its form too,
// if there is one.
func (f Finder) ending(of *file, met bool, first error) Result {
	end := of.end()
	if of.err != nil || !of.Named || met {
		return end
	}
	if d, has := lists.Find(of.docs, func(d *document) bool { return d.form.Line > 0 }); has {
		end.Form = d.form
	}
	end.Err = f.nothing(of, first, end.Form)
	return end
}

// none reports that the paths hold no cluster.
func (f Finder) none(sources []source.Source) error {
	return cmp.Or(lists.Check(sources, kustomization), refused("no cluster was found; name a file that holds %s", f.Expected()))
}

// kustomization refuses a kustomization, which makes clusters of other files.
func kustomization(s source.Source) error {
	if !slices.Contains(kustomize.FileNames(), filepath.Base(s.Path)) {
		return nil
	}
	return refused("%s: a kustomization, not a cluster; plan its output: %s", s.Name, kustomize.Rendered(filepath.Dir(s.Path)))
}

// nothing reports why a named file has no cluster to work on.
func (f Finder) nothing(in *file, first error, form forms.Found) error {
	switch _, known := errors.AsType[*transform.Refused](first); {
	case form.Line > 0 && (!known || form.Form.Name != forms.Keys.Name):
		return refused("%s:%d: %s, which is not read; %s", in.Name, form.Line, form.Form.Name, form.Form.Fix)
	case first != nil && (known || !forms.Foreign(in.Name)):
		return first
	case kustomization(in.Source) != nil:
		return kustomization(in.Source)
	case in.empty:
		return refused("%s: the file is empty; name a file that holds %s", in.Name, f.Expected())
	}
	return refused("%s: no cluster in it; name a file that holds %s", in.Name, f.Expected())
}

func refused(format string, args ...any) error {
	return transform.NewError(transform.ExitRefused, fmt.Sprintf(format, args...))
}

// Cluster is the documents that describe one cluster, and where they are from.
type Cluster struct {
	Format  transform.Format
	Docs    []*yamledit.Document // the one that names the cluster first
	Related []*yamledit.Document // that rules read
	Sources []source.Source      // for each of Docs
	Live    *Live                // nil for files
	Patch   bool                 // of a kustomization or an overlay of Fleet, and no cluster of its own
	Uses    []kustomize.Use      // what overlays make of Docs
	// overlaid refuses a document that kustomizations or Fleet change; nil for others.
	overlaid error
	// twin is another place that describes the cluster, which may be applied together; "" for none.
	twin     string
	together bool

	// unread refuses documents where another one, which may be of the same cluster, could
	// not be read; nil for others.
	unread error
}

// Refusal is what keeps a cluster from being planned, unless the operator accepts it.
func (c Cluster) Refusal(t transform.Target) error {
	if c.unread != nil {
		return c.unread
	}
	err, accepted := c.Refused(t)
	if accepted {
		return nil
	}
	return err
}

// Refused is what places next to a cluster make of it: the first that the operator does not accept,
// or else one that is accepted.
func (c Cluster) Refused(t transform.Target) (err error, accepted bool) {
	if c.together {
		err, accepted = c.described(), slices.Contains(t.Accept, rules.DuplicateCluster.ID)
	}
	if c.overlaid != nil && (err == nil || accepted) {
		err, accepted = c.overlaid, slices.Contains(t.Accept, rules.ChangedByOverlay.ID)
	}
	return err, accepted
}

func (c Cluster) described() *transform.Refused {
	return rules.Described(c.Docs[0], c.Format.Identify(c.Docs[0]), c.twin)
}

// Place names the document that names the cluster, in messages.
func (c Cluster) Place() string { return place(c.Docs[0].Chunk()) }

func place(c yamledit.Chunk) string {
	switch {
	case c.Item > 0:
		return fmt.Sprintf("%s:%d: item %d", c.File, c.Line+1, c.Item)
	case c.Index == 0:
		return c.File
	}
	return fmt.Sprintf("%s:%d: document %d", c.File, c.Line+1, c.Index+1)
}

// Saved is a file that the plan.json in its folder lists with the sum of its content.
type Saved struct {
	source.Text
	Plan plan.Saved
}

// Found is what a search found.
type Found struct {
	Results   []Result // in the order of the documents
	Documents int      // that were read
	Saved     []*Saved // files of saved plans, which are read as no clusters
}

// Result is a cluster, an error, or the end of sources.
type Result struct {
	Cluster             // without Docs for none
	File    string      // names the source; "" for what concerns none
	Err     error       // of the cluster, of a document that may be one, or of the sources as a whole
	Form    forms.Found // what a document has in a form that is not read; with an error, the reason for it

	// Ended are the sources that end here, together where one cluster has documents in
	// them. An error that concerns no source ends one without a name.
	Ended []source.Text
}

// Failed is an error that concerns no source.
func Failed(err error) Result { return Result{Err: err, Ended: []source.Text{{}}} }
