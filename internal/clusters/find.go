// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
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
	for _, s := range sources {
		if err := kustomization(s); err != nil {
			return err
		}
	}
	return transform.NewError(transform.ExitRefused, "no cluster was found; name a file that holds "+f.Expected())
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
