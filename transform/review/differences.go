// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// difference is a value that two documents do not share; one of the nodes may be missing.
type difference struct {
	before, after yamledit.Node
}

// spec is the part of a document that describes what a cluster gets: labels, annotations
// and what a server adds do not.
func spec(doc *yamledit.Document) yamledit.Node {
	if n := doc.Root().Get("spec"); n.Exists() {
		return n
	}
	return doc.Root()
}

// differences returns the innermost values that differ. Lists of another length differ as
// a whole. Text that holds manifests is compared as these are applied.
func differences(before, after yamledit.Node) []difference {
	switch {
	case !before.Exists() && !after.Exists(), before.Exists() && after.Exists() && yamledit.Same(before.Value(), after.Value()):
		return nil
	case before.IsMap() && after.IsMap():
		return ofMaps(before, after)
	case before.IsList() && after.IsList() && before.Len() == after.Len():
		var found []difference
		items := after.Items()
		for i, item := range before.Items() {
			found = append(found, differences(item, items[i])...)
		}
		return found
	}
	return []difference{{before, after}}
}

func ofMaps(before, after yamledit.Node) []difference {
	found := slices.Concat(lists.Map(before.Entries(), func(e yamledit.Entry) []difference { return differences(e.Value, after.Get(e.Key)) })...)
	for _, e := range after.Entries() {
		if !before.Get(e.Key).Exists() {
			found = append(found, difference{after: e.Value})
		}
	}
	return found
}

// node is the one after the change, or else the one before it.
func (d difference) node() yamledit.Node {
	if d.after.Exists() {
		return d.after
	}
	return d.before
}

// at is its place after the change, or the nearest one to what was removed.
func (d difference) at(now *yamledit.Document) yamledit.Node {
	if d.after.Exists() {
		return d.after
	}
	return nearest(now, d.before)
}

func (d difference) kind() Kind {
	switch {
	case !d.before.Exists():
		return Added
	case !d.after.Exists():
		return Removed
	}
	return Changed
}

// nearest finds a node in another version of its document, or what is around it there.
func nearest(doc *yamledit.Document, n yamledit.Node) yamledit.Node {
	var steps []yamledit.Node
	for ; n.Exists() && n.Path() != n.Document().Root().Path(); n = n.Parent() {
		steps = append(steps, n)
	}
	at := doc.Root()
	for _, s := range slices.Backward(steps) {
		next := at.Get(s.Key())
		if at.IsList() {
			next = yamledit.Node{}
			if items := at.Items(); s.Index() >= 0 && s.Index() < len(items) {
				next = items[s.Index()]
			}
		}
		if !next.Exists() {
			break
		}
		at = next
	}
	return at
}

// overlap reports whether one path is that of the other or of something in it.
func overlap(a, b string) bool { return within(a, b) || within(b, a) }

func within(inner, outer string) bool {
	rest, is := strings.CutPrefix(inner, outer)
	return is && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
