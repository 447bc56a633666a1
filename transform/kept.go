// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"reflect"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Alike reports whether two objects of the distro, as decoded JSON, are the same to
// Rancher. It reads them into its Go types and writes them back at any time, so what
// those types do not distinguish is no change: see Kept of each distro. Manifests in a
// string are compared as [Same] does.
func (d Distro) Alike(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	return Same(d.kept(a), d.kept(b))
}

// SameSpec reports whether two documents have specifications that are the same to
// Rancher.
func (d Distro) SameSpec(a, b *yamledit.Document) bool {
	spec := func(doc *yamledit.Document) any { return map[string]any{"spec": doc.Root().Get("spec").Value()} }
	return d.Alike(spec(a), spec(b))
}

// kept is what Rancher keeps of a value. What is no object stays as it is.
func (d Distro) kept(v any) any {
	object, isMap := v.(map[string]any)
	if !isMap || d.Kept == nil {
		return v
	}
	return d.Kept(object)
}

// sameAs compares a document with another version of it: an object as Rancher does,
// a file of people by its tree.
func (d Distro) sameAs(doc *yamledit.Document) func(a, b any) bool {
	if d.IsObject != nil && d.IsObject(doc) {
		return d.Alike
	}
	return Same
}

// Served reports whether an API server has printed a document.
func Served(doc *yamledit.Document) bool {
	return doc.Chunk().Served || doc.Root().StringAt("metadata", "uid") != ""
}
