// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Known is a cluster as it is known by its name: in all files, or in what is applied together.
type Known struct {
	transform.Identity
	Root string // a folder, kustomization, bundle or stream; "" for all files
}

// Known is what the cluster of a document is known by, in all files first; nothing if the document is applied with
// another one. The name of one of several documents is that of an object, which each cluster may have: it counts where
// several folders are applied together.
func (u Use) Known(id transform.Identity, several bool) []Known {
	named, roots := u.Named(id), u.Roots
	switch {
	case id.Name == "" || len(roots) == 0:
		return nil
	case several:
		roots = roots[1:]
	default:
		roots = append([]string{""}, roots...)
	}
	return lists.Map(roots, func(root string) Known { return Known{named, root} })
}

// Places are where clusters are described, by what they are known by. Of each two are kept: that is enough to name
// another one.
type Places map[Known][]string

// Add adds a place.
func (p Places) Add(key Known, place string) {
	if len(p[key]) < 2 && !slices.Contains(p[key], place) {
		p[key] = append(p[key], place)
	}
}

// Other returns another place than one; "" for none.
func (p Places) Other(key Known, place string) string {
	other, _ := lists.Find(p[key], func(other string) bool { return other != place })
	return other
}
