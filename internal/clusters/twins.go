// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
)

// twins are the places that describe a cluster, by its name: in all files, and in what is applied
// together.
type twins struct {
	mutex sync.Mutex
	of    transform.Places[described]
}

type described struct {
	transform.Identity
	root string // a folder, kustomization, bundle or stream; "" for all files
}

// twins are those of files, which are read once more for that: a cluster is not planned, and no file
// written, if a later file has it again. Those of streams are added as they are read.
func (f Finder) twins(ctx context.Context, sources []source.Source) *twins {
	all := &twins{of: transform.Places[described]{}}
	files := slices.DeleteFunc(slices.Clone(sources), func(s source.Source) bool { return !s.IsFile() })
	for n := range InOrder(ctx, f.scan(files), piece.size, f.describes) {
		all.add(n)
	}
	return all
}

// names are what a document is known by, and its place.
type names struct {
	of     []described
	place  string
	stream bool
}

// describes returns what the document of a piece is known by. What cannot be read is reported later.
func (f Finder) describes(p piece) (n names) {
	_ = transform.Guard(p.place(), func() error {
		if !p.end && !p.source.Values && (p.words || f.applied(p.chunk.Bytes)) {
			if _, c, err := f.Open(p.chunk); err == nil && c.Docs != nil {
				c.Sources = []source.Source{p.source}
				n = f.names(c)
			}
		}
		return nil
	})
	return n
}

// names returns what a cluster is known by. The name of a manifest is that of an object, which each
// cluster may have: it counts where several folders are applied together.
func (f Finder) names(c Cluster) (n names) {
	use := f.Overlays.Use(c.Sources[0])
	id, roots := c.Distro.Identify(c.Docs[0]), use.Roots
	n.place, n.stream = fmt.Sprintf("%s:%d", c.Docs[0].File(), c.Docs[0].Root().Line()), !c.Sources[0].IsFile()
	switch {
	case id.Name == "" || len(roots) == 0:
		return n
	case c.Distro.Span.Several:
		roots = roots[1:]
	case !n.stream:
		n.of = []described{{Identity: use.Named(id)}}
	}
	for _, root := range roots {
		n.of = append(n.of, described{use.Named(id), root})
	}
	return n
}

func (t *twins) add(n names) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, key := range n.of {
		t.of.Add(key, n.place)
	}
}

// find returns another place of a cluster, in a stream an earlier one, and whether both are applied
// together.
func (t *twins) find(n names) (other string, together bool) {
	if t == nil {
		return "", false
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, key := range slices.Backward(n.of) {
		if n.stream && slices.Index(t.of[key], n.place) == 0 {
			continue // the others come later
		}
		if other := t.of.Other(key, n.place); other != "" {
			return other, key.root != ""
		}
	}
	return "", false
}
