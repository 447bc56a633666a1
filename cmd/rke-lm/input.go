// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// input is one file with the clusters in it.
type input struct {
	source   source.Source
	stats    source.Stats
	clusters []found
	errs     []error // documents that were refused
}

// found is a document that describes a cluster.
type found struct {
	distro transform.Distro
	doc    *yamledit.Document
}

// inputs reads every path. Errors of one document do not keep others from being
// read; they are returned with their file.
func (o *options) inputs(ctx context.Context, paths []string) ([]input, error) {
	if len(paths) == 0 {
		return nil, errors.New("no path is given; name a file, a folder, or - for standard input")
	}
	if o.distro != "" {
		if err := checkOneOf("distro", o.distro, distroNames()...); err != nil {
			return nil, err
		}
	}
	sources, err := source.Find(paths, o.in)
	var all []input
	for _, s := range sources {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if in := o.read(s); len(in.clusters)+len(in.errs) > 0 {
			all = append(all, in)
		}
	}
	if err == nil && len(all) == 0 {
		err = &failure{code: exitRefused, err: errors.New("no cluster was found; name a file that holds a Cluster of " + o.markers())}
	}
	return all, err
}

func (o *options) markers() string {
	var text string
	for _, d := range o.candidates() {
		text += d.Marker
	}
	return text
}

// candidates are the distros to look for.
func (o *options) candidates() []transform.Distro {
	return slices.DeleteFunc(distros(), func(d transform.Distro) bool { return o.distro != "" && d.Name != o.distro })
}

// read scans one source. The first document of a named one is read in any case:
// if no cluster turns up, it says what the file holds instead.
func (o *options) read(s source.Source) input {
	in := input{source: s}
	var first error
	count := 0
	wanted := func(text []byte) bool {
		count++
		return o.wanted(text) || s.Named && count == 1
	}
	var err error
	in.stats, err = s.Scan(wanted, func(c yamledit.Chunk) error {
		f, err := o.open(c)
		switch {
		case err == nil && f.doc != nil:
			in.clusters = append(in.clusters, f)
		case err != nil && o.wanted(c.Bytes):
			in.errs = append(in.errs, err)
		case first == nil:
			first = err
		}
		return nil
	})
	switch {
	case errors.Is(err, source.ErrBinary) && !s.Named:
		return input{}
	case err != nil:
		in.errs = append(in.errs, err)
	case s.Named && len(in.clusters)+len(in.errs) == 0:
		in.errs = append(in.errs, o.nothing(in, first))
	}
	return in
}

// wanted is the quick look at a document's text.
func (o *options) wanted(text []byte) bool {
	return slices.ContainsFunc(o.candidates(), func(d transform.Distro) bool { return bytes.Contains(text, []byte(d.Marker)) })
}

// open parses a document and finds its distro; without one there is no doc.
func (o *options) open(c yamledit.Chunk) (found, error) {
	doc, err := transform.Parse(c)
	if err != nil {
		return found{}, err
	}
	for _, d := range o.candidates() {
		if d.Owns(doc) || o.distro == d.Name && doc.Root().Exists() {
			return found{d, doc}, nil
		}
	}
	if items := doc.Root().Get("items"); items.IsList() {
		return found{}, items.Errorf("a list of objects in one document", "write each cluster as a document of its own, as kubectl get -o yaml NAME prints it")
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

// nothing says why a named file has no cluster to work on.
func (o *options) nothing(in input, first error) error {
	switch {
	case first != nil:
		return first
	case in.stats.Bytes == 0:
		return &yamledit.Error{File: in.source.Name, What: "the file is empty", Do: "name a file that holds a Cluster of " + o.markers()}
	case in.stats.Oversize > 0:
		return &failure{code: exitRefused, err: fmt.Errorf("%s: no cluster, and %d documents larger than %d MiB, which no cluster is; name the cluster's own file", in.source.Name, in.stats.Oversize, source.MaxDocument>>20)}
	}
	return &failure{code: exitRefused, err: fmt.Errorf("%s: no Cluster of %s in it; name the file that holds one", in.source.Name, o.markers())}
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
