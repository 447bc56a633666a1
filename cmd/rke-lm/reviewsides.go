// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"slices"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/review"
)

// opened is what was read before the change, or after it.
type opened struct {
	sides []*review.Side
	forms []forms.Found // that are not read
	saved []*clusters.Saved
	errs  []error
	count outputs.Counted
}

// open opens the clusters of one version.
func (r *reviewOptions) open(ctx context.Context, of clusters.Version) (v opened) {
	f := r.finder()
	f.Overlays = of.Overlays
	found := f.From(ctx, of.Sources)
	v.saved, v.count = found.Saved, outputs.Counted{Files: len(of.Sources), Documents: found.Documents}
	for _, result := range found.Results {
		switch {
		case result.Err != nil:
			v.errs = append(v.errs, result.Err)
		case result.Docs != nil:
			v.sides = append(v.sides, sideOf(result.Cluster))
		case result.Form.File != "":
			v.forms = append(v.forms, result.Form)
		}
	}
	return v
}

func sideOf(c clusters.Cluster) *review.Side {
	return &review.Side{Distro: c.Distro, Docs: c.Docs, Related: c.Related, Patch: c.Patch, Uses: c.Uses, Unnamed: c.Sources[0].Named}
}

// leftOut reports the changed files that a pattern leaves out, with the clusters that change in them.
func (r *reviewOptions) leftOut(ctx context.Context, pattern string, v clusters.Versions, accept []string) []transform.Finding {
	hidden, files := map[string]bool{}, map[string]bool{}
	var sides [2][]*review.Side
	for i, version := range []clusters.Version{v.Before, v.After} {
		version.Sources = version.Excluded[pattern]
		read := r.open(ctx, version)
		if sides[i] = read.sides; len(read.errs) > 0 {
			hidden["documents that cannot be read"] = true
		}
		for _, s := range version.Sources {
			files[s.Name] = true
		}
	}
	for _, p := range review.Pairs(sides[0], sides[1], v.Earlier) {
		switch {
		case p.After == nil:
			hidden[p.Before.Docs[0].File()] = true
		case p.Before == nil || !review.Same(p.Before, p.After):
			hidden[p.After.Docs[0].File()] = true
		}
	}
	return review.Excluded(pattern, len(files), slices.Sorted(maps.Keys(hidden)), r.configured["exclude"], accept)
}
