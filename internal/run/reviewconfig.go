// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/internal/git"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/review"
)

// counting returns the settings of the file of a commit that counts for the current folder, and the
// name of that file; "" for none.
func (r *reviewing) counting(ctx context.Context, commit string) ([]review.Setting, string, error) {
	places := lists.Map(r.repo.Above(), func(folder string) string { return path.Join(folder, config.Name) })
	if r.Config != "" {
		place, inside := r.repo.Path(r.Config)
		if !inside {
			settings, err := config.Read(r.Config, r.Kinds)
			return settings, r.Config, err
		}
		places = []string{place}
	}
	for _, place := range places {
		if f, found, err := r.repo.File(ctx, commit, place); err != nil || found {
			settings, err := r.settings(&f, err)
			return settings, r.repo.Name(place), err
		}
	}
	return nil, "", nil
}

// settings reads the configuration that a file of a commit or of the working tree is; none for nil.
func (r *reviewing) settings(f *git.File, err error) ([]review.Setting, error) {
	if f == nil || err != nil || f.Kind() != "" {
		return nil, err
	}
	name := r.repo.Name(f.Path)
	if f.Hash == "" {
		return config.Read(name, r.Kinds)
	}
	text, err := r.repo.Read(*f, config.MaxSize)
	if err != nil {
		return nil, err
	}
	return config.Parse(name, text, r.Kinds)
}

// reconfigured reports what the change does to configuration files, those of all folders: rke-lm
// reads the nearest one.
func (r *reviewing) reconfigured() {
	named, _ := r.repo.Path(r.Config)
	is := func(f *git.File) *git.File {
		if f == nil || path.Base(f.Path) != config.Name && (r.Config == "" || f.Path != named) {
			return nil
		}
		return f
	}
	for _, c := range r.changes {
		was, has := is(c.Before), is(c.After)
		if was == nil && has == nil {
			continue
		}
		before, err := r.settings(was, nil)
		after, err := r.settings(has, err)
		if has != nil && has.Kind() != "" {
			err = fmt.Errorf("%s: a %s in the change, which is not read; replace it by a file", r.repo.Name(has.Path), has.Kind())
		}
		if err != nil {
			r.Errs = append(r.Errs, err)
			continue
		}
		found := review.Configuration(r.repo.Name(cmp.Or(has, was).Path), before, after, len(r.Result.Clusters) > 0, r.Target.Accept)
		r.Result.Found(found...)
	}
}
