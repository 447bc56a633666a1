// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"cmp"
	"fmt"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
