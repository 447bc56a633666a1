// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
)

// withValues adds the values file that the operator names to the sources of a run.
func (f Finder) withValues(sources []source.Source) ([]source.Source, error) {
	if f.Values == "" {
		return sources, nil
	}
	return source.WithValues(sources, f.Values, f.Excluded)
}

// takeValues takes what a values file holds, and its end.
func (g *gathering) takeValues(r Result) bool {
	held := g.of(r.number)
	held.linked = true
	if !r.end {
		if len(held.values) < MaxDocuments {
			held.values = append(held.values, r)
		}
		return true
	}
	held.failed = held.failed || r.err != nil
	r.Ended = []File{r.file()}
	held.ends = append(held.ends, r)
	return !g.folders.Ends(r.number) || g.complete(r.number)
}

// link works on the only cluster of a run, with its values file. All files of the run then end
// together: none is written unless all can be.
func (g *gathering) link(held *gathered) bool {
	for _, end := range held.ends {
		held.shared = append(held.shared, []source.Source{end.source, held.ends[0].source})
	}
	if held.failed || len(held.groups) == 0 {
		return true // the end of a file says why
	}
	c, err := held.only()
	r := resultOf(held.groups[0].First())
	if err == nil {
		r = resultOf(c.Docs[0], c.Sources[0])
		err = transform.Guard(r.place(), func() (err error) {
			r.show, err = g.on(c, g.handle)
			return err
		})
	}
	r.err = err
	return g.yield(r)
}

// only returns the cluster of a run with its values file. Which of several clusters the file is
// of does not show.
func (held *gathered) only() (Cluster, error) {
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
		return c, second.Errorf(fmt.Sprintf("a second cluster, next to that of %s:%d, and a values file is of one", c.Docs[0].File(), c.Docs[0].Root().Line()), "name one cluster with its own --ccm-values")
	}
	return c, held.addValues(&c)
}

// addValues adds the one document of the values file.
func (held *gathered) addValues(c *Cluster) error {
	values := held.values[0]
	for _, more := range held.values[1:] {
		if values.err == nil && more.err == nil && values.values.Root().Exists() && more.values.Root().Exists() {
			return more.values.Root().Errorf("a second document, which helm does not read", "keep the values in one document")
		}
		if values.err == nil && !values.values.Root().Exists() {
			values = more
		}
	}
	if values.err != nil {
		return values.err
	}
	docs, err := c.Distro.Span.WithValues(c.Docs, values.values)
	if err == nil {
		c.Docs, c.Sources = docs, append(c.Sources, values.source)
	}
	return err
}
