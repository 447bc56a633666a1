// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// withValues adds the values file that the operator names to the sources of a run.
func (f Finder) withValues(sources []source.Source) ([]source.Source, error) {
	if f.Values == "" {
		return sources, nil
	}
	return source.WithValues(sources, f.Values, f.Excluded)
}

// takeValues takes what a values file holds, and its end.
func (g *gathering) takeValues(r Result) {
	held := g.of(r.number)
	held.linked = true
	if !r.end {
		held.values = append(held.values, r)
		return
	}
	held.failed = held.failed || r.err != nil
	r.Ended = []source.Text{r.text}
	held.ends = append(held.ends, r)
	if g.folders.Ends(r.number) {
		g.complete(held)
	}
}

// link passes on the only cluster of a run, with its values file if there is one. All files of the run then end
// together: none is written unless all can be.
func (g *gathering) link(held *gathered) {
	for _, end := range held.ends {
		held.shared = append(held.shared, []source.Source{end.source, held.ends[0].source})
	}
	if held.failed || len(held.groups) == 0 {
		return // the end of a file says why
	}
	c, err := held.only(g.Only, g.Values)
	r := resultOf(held.groups[0].First())
	if r.err = err; err == nil {
		r = resultOf(c.Docs[0], c.Sources[0])
		r.of = &c
	}
	g.results = append(g.results, r)
}

// only returns the cluster of a run with its values file. Which of several clusters a flag is
// of does not show.
func (held *gathered) only(flag, file string) (Cluster, error) {
	var all []Cluster
	for _, group := range held.groups {
		found, err := group.Clusters()
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
	return c, held.addValues(&c, file)
}

// addValues adds the one document of the values file.
func (held *gathered) addValues(c *Cluster, file string) error {
	var found []*yamledit.Document
	for _, r := range held.values {
		if r.err != nil {
			return r.err
		}
		found = append(found, r.values)
	}
	values, err := onlyValues(file, found)
	if err != nil {
		return err
	}
	docs, err := c.Distro.Span.WithValues(c.Docs, values)
	if err == nil {
		c.Docs, c.Sources = docs, append(c.Sources, held.values[0].source)
	}
	return err
}

// onlyValues returns the document with the values; others have to be empty.
func onlyValues(file string, docs []*yamledit.Document) (*yamledit.Document, error) {
	values := docs[0]
	for _, doc := range docs[1:] {
		switch {
		case !doc.Root().Exists():
		case values.Root().Exists():
			return nil, doc.Root().Errorf("a second document, which helm does not read", "keep the values in one document")
		default:
			values = doc
		}
	}
	return values, nil
}

// ValuesOf returns the values file that the operator names for a cluster whose own document is in
// no file.
func (f Finder) ValuesOf(c Cluster) (*yamledit.Document, error) {
	sources, err := f.withValues(nil)
	if err != nil {
		return nil, err
	}
	text, err := sources[0].Read()
	if err != nil {
		return nil, err
	}
	var docs []*yamledit.Document
	for c, err := range text.Documents() {
		if err != nil {
			return nil, err
		}
		doc, err := transform.Parse(c)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	values, err := onlyValues(f.Values, docs)
	if err == nil {
		_, err = c.Distro.Span.WithValues(c.Docs, values)
	}
	return values, err
}
