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
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// sides opens the clusters of one version, whose sources have a name in the progress, and counts what
// it reads. It returns the files in forms that are not read, and those of saved plans, as well.
func (r *reviewOptions) sides(ctx context.Context, name string, v clusters.Version, count *outputs.Counted, fail func(error)) (list []*review.Side, others []forms.Found, saved []*clusters.Saved) {
	work := func(c clusters.Cluster) (func() error, error) {
		return func() error {
			list = append(list, sideOf(c))
			return nil
		}, nil
	}
	f := r.finderOf(name)
	f.Overlays = v.Overlays
	shown := f.Reached
	f.Reached = func(at clusters.Progress) {
		count.Files, count.Documents = at.Done, at.Documents
		shown(at)
	}
	for result := range f.From(ctx, v.Sources, work) {
		if err := result.Use(); err != nil {
			fail(err)
		}
		if yamledit.CheckRun(r.nodes, r.parsed) != nil {
			break // which ends the review
		}
		if form := result.Form; form.File != "" {
			others = append(others, form)
		}
		saved = append(saved, result.Saved...)
	}
	return list, others, saved
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
	f := r.finderOf("other files")
	f.Values, f.Overlays = "", v.After.Overlays
	for result := range f.From(ctx, rest, func(c clusters.Cluster) (func() error, error) {
		return func() error { all = append(all, sideOf(c)); return nil }, nil
	}) {
		_ = result.Use() // what cannot be read is not of this change
	}
	return all, ctx.Err()
}

// leftOut reports the changed files that a pattern leaves out, with the clusters that change in them.
func (r *reviewOptions) leftOut(ctx context.Context, pattern string, v clusters.Versions, accept []string) []transform.Finding {
	hidden, files := map[string]bool{}, map[string]bool{}
	var sides [2][]*review.Side
	for i, version := range []clusters.Version{v.Before, v.After} {
		version.Sources = version.Excluded[pattern]
		sides[i], _, _ = r.sides(ctx, "files that are left out", version, &outputs.Counted{}, func(error) { hidden["documents that cannot be read"] = true })
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
