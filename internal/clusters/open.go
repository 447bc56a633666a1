// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// scan yields the documents worth parsing, and the end of every source. The
// first document of a named one is worth it in any case: if no cluster turns
// up, it says what the file holds instead.
func (f Finder) scan(sources []source.Source) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for i, s := range sources {
			count, marked, beside, more := 0, false, false, true
			wanted := func(text []byte) bool {
				count++
				marked = s.Values || f.wanted(text)
				beside = !marked && f.besides(text)
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

// wanted is the quick look at a document's text.
func (f Finder) wanted(text []byte) bool {
	return slices.ContainsFunc(f.Distros, func(d transform.Distro) bool { return d.Wants(text) })
}

// mayJoin reports whether a text may be of a cluster with several documents.
func (f Finder) mayJoin(text []byte) bool {
	return !f.Apart && slices.ContainsFunc(f.Distros, func(d transform.Distro) bool { return d.Span.Several && d.Wants(text) })
}

// besides reports whether rules of a distro read a document with this text.
func (f Finder) besides(text []byte) bool {
	return slices.ContainsFunc(f.Distros, func(d transform.Distro) bool { return d.Span.Beside(text) })
}

// Expected names what a file may hold.
func (f Finder) Expected() string {
	var names []string
	for _, d := range f.Distros {
		names = append(names, d.Document)
	}
	return strings.Join(names, " or ")
}

// Open parses a document and finds its distro; a document of none has no Docs.
func (f Finder) Open(c yamledit.Chunk) (Cluster, error) {
	doc, err := transform.Parse(c)
	if err != nil {
		return Cluster{}, err
	}
	for _, d := range f.Distros {
		if d.Owns(doc) || f.Forced && doc.Root().Exists() {
			return Cluster{Distro: d, Docs: transform.Only(doc)}, nil
		}
	}
	if items := doc.Root().Get("items"); items.IsList() {
		return Cluster{}, items.Errorf("a list of objects that is none of kubectl, or whose items share anchors", "write each cluster as a document of its own, as kubectl get -o yaml NAME prints it")
	}
	if n, isFragment := fragment(doc); isFragment {
		return Cluster{}, transform.NotMigratable(n, "a fragment of a cluster: the document has no kind: Cluster at its root", "name the whole Cluster object")
	}
	return Cluster{}, nil
}

// fragment finds a cluster's configuration outside of a cluster.
func fragment(doc *yamledit.Document) (yamledit.Node, bool) {
	for _, path := range [][]string{{"spec", "rkeConfig"}, {"rkeConfig"}, {"machineGlobalConfig"}, {"machineSelectorConfig"}} {
		if n := doc.Root().Get(path...); n.Exists() {
			return n, true
		}
	}
	return yamledit.Node{}, false
}
