// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// folder is the sources whose documents may describe clusters together: those of one folder, or one
// stream. The documents of such clusters, and the ends of their sources, wait for its last source.
type folder struct {
	last    int                                  // number of its last source
	sources map[*yamledit.Document]source.Source // of each document
	related []*yamledit.Document                 // that rules read
	used    bool                                 // by a cluster that waits for no other document
	unread  string                               // place of a document that could not be read; "" for none
	groups  []group                              // in the order of their first documents
	ends    []Result                             // of sources that wait
	shared  [][]source.Source                    // those of each cluster, which end together
	unused  []*file                              // named, with nothing but documents that rules read

	linked bool        // a flag is of one cluster
	values []*document // of its values file
	failed bool        // which cannot be read
}

// group is the documents of one format that may have others in their cluster.
type group struct {
	format transform.Format
	docs   []*yamledit.Document
}

// folders returns the folder of each source. One flag can make one of all of them.
func (f Finder) folders(sources []source.Source) (of []*folder) {
	known := map[string]*folder{}
	together := f.together() || slices.ContainsFunc(sources, func(s source.Source) bool { return s.Values })
	for i, s := range sources {
		name := fmt.Sprintf("stream %d", i)
		if path := s.Absolute(); path != "" {
			name = filepath.Dir(path)
		}
		if together {
			name = ""
		}
		if known[name] == nil {
			known[name] = &folder{sources: map[*yamledit.Document]source.Source{}}
		}
		known[name].last = i
		of = append(of, known[name])
	}
	return of
}

// together reports whether a flag other than that of a values file is of one cluster.
func (f Finder) together() bool { return f.Only != "" && f.Values == "" }

// group returns the clusters of files, and the errors and ends of the files, in their order.
func (f Finder) group(sources []source.Source, files []*file) (results []Result) {
	of := f.folders(sources)
	for i, file := range files {
		for _, d := range file.docs {
			if d.related != nil {
				of[i].related, of[i].sources[d.related] = append(of[i].related, d.related), file.Source
			}
		}
	}
	for i, file := range files {
		if in := of[i]; file.Values {
			in.linked, in.values, in.failed = true, file.docs, file.err != nil
			in.ends = append(in.ends, file.end())
		} else {
			results = append(results, f.documents(file, in)...)
		}
		if of[i].last == i {
			results = append(results, f.complete(of[i])...)
		}
	}
	return results
}

// end is the end of the file.
func (f *file) end() Result {
	return Result{File: f.Name, Err: f.err, Ended: []source.Text{f.Text}}
}

// documents returns what comes of a file before its folder ends.
func (f Finder) documents(file *file, in *folder) (results []Result) {
	waits, met, related := false, false, false
	var first error // of a document that is none of a format
	for _, d := range file.docs {
		met = met || d.cluster != nil || d.meant
		switch {
		case d.related != nil:
			related = true
		case d.cluster == nil && !d.meant:
			first = cmp.Or(first, d.err)
		case d.err != nil:
			if f.mayGroup(d.chunk.Bytes) {
				in.unread = place(d.chunk)
			}
			results = append(results, Result{File: file.Name, Err: d.err})
		case f.Only != "" || !f.SeparateDocuments && d.groups:
			waits, in.linked = true, in.linked || f.together()
			in.add(d.cluster.Format, d.cluster.Docs[0], file.Source)
		default:
			if !f.SeparateDocuments && f.Configs {
				d.cluster.Related, in.used = in.related, true
			}
			results = append(results, Result{Cluster: *d.cluster, File: file.Name})
		}
	}
	end := f.ending(file, met, first)
	for _, d := range file.docs {
		if d.form.File != "" && (end.Form.Line == 0 || d.form.Line != end.Form.Line) { // that one comes with the error
			results = append(results, Result{Form: d.form})
		}
	}
	switch {
	case end.Err != nil && related && !met:
		in.unused = append(in.unused, file)
	case !met && end.Err == nil:
	case waits:
		in.ends = append(in.ends, end)
	default:
		results = append(results, end)
	}
	return results
}

// add takes a document that may have others in its cluster.
func (in *folder) add(d transform.Format, doc *yamledit.Document, from source.Source) {
	in.sources[doc] = from
	i := slices.IndexFunc(in.groups, func(g group) bool { return g.format.Name == d.Name })
	if i < 0 {
		i, in.groups = len(in.groups), append(in.groups, group{format: d})
	}
	in.groups[i].docs = append(in.groups[i].docs, doc)
}

// complete returns the clusters of a folder after its last source, and then the ends of the sources
// that waited: as one where a cluster has documents in several.
func (f Finder) complete(in *folder) (results []Result) {
	switch {
	case in.linked:
		results = in.link(f.Only, f.Values)
	case len(in.groups) == 0 && !in.used:
		results = lists.Map(in.unused, func(of *file) Result { return f.ending(of, false, nil) }) // no cluster has documents in them
	default:
		results = lists.Flat(in.groups, in.clustersOf)
	}
	return append(results, in.joined()...)
}

// clusters returns the clusters of a group. It fails with *transform.Refused where nothing shows
// which documents are of which cluster.
func (in *folder) clusters(g group) ([]Cluster, error) {
	grouped, err := g.format.Grouping.Group(g.docs, in.related)
	if err != nil {
		return nil, err
	}
	return lists.Map(grouped, func(docs []*yamledit.Document) Cluster {
		return Cluster{Format: g.format, Docs: docs, Related: in.related, Sources: in.sourcesOf(docs)}
	}), nil
}

func (in *folder) sourcesOf(docs []*yamledit.Document) []source.Source {
	return lists.Map(docs, func(doc *yamledit.Document) source.Source { return in.sources[doc] })
}

// clustersOf returns the clusters of a group, or the error in their place.
func (in *folder) clustersOf(g group) (results []Result) {
	var all []Cluster
	err := transform.Guard(g.docs[0].File(), func() (err error) {
		all, err = in.clusters(g)
		return err
	})
	if err != nil {
		in.shared = append(in.shared, in.sourcesOf(g.docs))
		return []Result{{File: in.sources[g.docs[0]].Name, Err: err}}
	}
	for _, c := range all {
		in.shared = append(in.shared, c.Sources)
		if in.unread != "" && c.Format.Grouping.Several {
			c.unread = c.Docs[0].Root().Errorf(in.unread+" cannot be read, and may describe the same cluster, so the order of the stages is not known", "correct that document first, or move it to another folder")
		}
		results = append(results, Result{Cluster: c, File: c.Sources[0].Name})
	}
	return results
}

// joined returns the ends of the sources that waited, one for those that share a cluster.
func (in *folder) joined() (results []Result) {
	first := map[string]int{} // the number of the first end with which a source ends
	for i, end := range in.ends {
		first[end.File] = i
	}
	for _, sources := range in.shared {
		same := lists.Found(sources, func(s source.Source) (i int, waits bool) { i, waits = first[s.Name]; return i, waits })
		for file, i := range first {
			if slices.Contains(same, i) {
				first[file] = slices.Min(same)
			}
		}
	}
	at := map[int]int{} // the number of the result of each first end
	for i, end := range in.ends {
		if first[end.File] == i {
			at[i], results = len(results), append(results, Result{})
		}
		r := &results[at[first[end.File]]]
		r.File, r.Ended, r.Err = end.File, append(r.Ended, end.Ended...), errors.Join(r.Err, end.Err)
	}
	return results
}

// link returns the only cluster of a run, with its values file if there is one. All files of the run then end
// together: none is written unless all can be.
func (in *folder) link(flag, values string) []Result {
	in.shared = [][]source.Source{lists.Map(in.ends, func(end Result) source.Source { return end.Ended[0].Source })}
	if in.failed || len(in.groups) == 0 {
		return nil // the end of a file says why
	}
	c, err := in.only(flag, values)
	if err != nil {
		return []Result{{File: in.groups[0].docs[0].File(), Err: err}}
	}
	return []Result{{Cluster: c, File: c.Sources[0].Name}}
}

// only returns the cluster of a run with its values file. Which of several clusters a flag is
// of does not show.
func (in *folder) only(flag, file string) (Cluster, error) {
	var all []Cluster
	for _, group := range in.groups {
		found, err := in.clusters(group)
		if err != nil {
			return Cluster{}, err
		}
		all = append(all, found...)
	}
	c := all[0]
	if len(all) > 1 {
		second := all[1].Docs[0].Root()
		return c, second.Errorf(fmt.Sprintf("a second cluster, next to that of %s:%d, and --%s is of one", c.Docs[0].File(), c.Docs[0].Root().Line(), flag), "name one cluster with its own --"+flag)
	}
	if file == "" {
		return c, nil
	}
	values, err := valuesIn(in.values)
	if err != nil {
		return c, err
	}
	docs, err := c.Format.Grouping.WithValues(c.Docs, values)
	c.Docs, c.Sources = docs, append(c.Sources, in.values[0].file.Source)
	return c, err
}

// valuesIn returns the document with the values; others have to be empty.
func valuesIn(docs []*document) (values *yamledit.Document, err error) {
	for _, d := range docs {
		switch {
		case d.err != nil:
			return nil, d.err
		case values == nil || !values.Root().Exists():
			values = d.values
		case d.values.Root().Exists():
			return nil, d.values.Root().Errorf("a second document, which helm does not read", "keep the values in one document")
		}
	}
	return values, nil
}

// WithValues adds the values file that the operator names to the choices for a live cluster, whose own document is in
// no file.
func (f Finder) WithValues(c Cluster, t transform.Target) (transform.Target, error) {
	if f.Values == "" || c.Live == nil {
		return t, nil
	}
	sources, err := source.WithValues(nil, f.Values, f.Excluded)
	if err != nil {
		return t, err
	}
	file := f.readFile(sources[0])
	for _, d := range file.docs {
		f.open(d)
	}
	values, err := valuesIn(file.docs)
	if err = cmp.Or(file.err, err); err != nil {
		return t, err
	}
	t.Values = values
	_, err = c.Format.Grouping.WithValues(c.Docs, values)
	return t, err
}
