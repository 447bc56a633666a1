// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/kustomize"
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
	var failed []Result
	if err != nil {
		failed = []Result{Failed(err)}
	}
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
