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

// sides opens the clusters of one version, and counts what it reads. It returns the files in forms that
// are not read, and those of saved plans, as well.
func (r *reviewOptions) sides(ctx context.Context, v clusters.Version, count *outputs.Counted, fail func(error)) (list []*review.Side, others []forms.Found, saved []*clusters.Saved) {
	f := r.finder()
	f.Overlays = v.Overlays
	found := f.From(ctx, v.Sources)
	count.Files, count.Documents = len(v.Sources), found.Documents
	for _, result := range found.Results {
		switch {
		case result.Err != nil:
			fail(result.Err)
		case result.Docs != nil:
			list = append(list, sideOf(result.Cluster))
		case result.Form.File != "":
			others = append(others, result.Form)
		}
	}
	return list, others, found.Saved
}

func sideOf(c clusters.Cluster) *review.Side {
	return &review.Side{Distro: c.Distro, Docs: c.Docs, Related: c.Related, Patch: c.Patch, Uses: c.Uses}
}

// rest are the clusters of the files that the change does not touch.
func (r *reviewOptions) rest(ctx context.Context, v clusters.Versions) (all []*review.Side, err error) {
	rest, err := v.Rest()
	if err != nil {
		return nil, err
	}
	f := r.finder()
	f.Values, f.Overlays = "", v.After.Overlays
	for _, result := range f.From(ctx, rest).Results {
		if result.Docs != nil && result.Err == nil { // what cannot be read is not of this change
			all = append(all, sideOf(result.Cluster))
		}
	}
	return all, ctx.Err()
}

// leftOut reports the changed files that a pattern leaves out, with the clusters that change in them.
func (r *reviewOptions) leftOut(ctx context.Context, pattern string, v clusters.Versions, accept []string) []transform.Finding {
	hidden, files := map[string]bool{}, map[string]bool{}
	var sides [2][]*review.Side
	for i, version := range []clusters.Version{v.Before, v.After} {
		version.Sources = version.Excluded[pattern]
		sides[i], _, _ = r.sides(ctx, version, &outputs.Counted{}, func(error) { hidden["documents that cannot be read"] = true })
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
