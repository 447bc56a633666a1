// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/git"
	"github.com/rke-lm/rke-lm/internal/source"
)

// Versions are the sources of two versions of a repository: the files that differ, and
// those in their folders that may describe the same clusters.
type Versions struct {
	Before, After []source.Source
	Was           map[string]string // the names of renamed files before, by those after
	Touched       []string          // paths in the repository that differ
}

// Compare reads the files that differ between a commit and another one, or with "" the
// working tree. wanted reports whether a path of the repository is requested.
func (f Finder) Compare(ctx context.Context, repo *git.Repository, from, to string, wanted func(string) bool) (Versions, error) {
	changes, err := repo.Changes(ctx, from, to)
	if err != nil {
		return Versions{}, err
	}
	v := comparing{Finder: f, repo: repo, from: from, to: to, Versions: Versions{Was: map[string]string{}}, folders: map[string]bool{}}
	for _, c := range changes {
		v.take(c, wanted)
	}
	if err := v.neighbors(ctx); err != nil {
		return Versions{}, err
	}
	if v.Before, err = v.sources(ctx, v.before); err == nil {
		v.After, err = v.sources(ctx, v.after)
	}
	return v.Versions, err
}

type comparing struct {
	Finder
	Versions
	repo          *git.Repository
	from, to      string
	before, after []git.File
	folders       map[string]bool // that hold a changed file
	touched       map[string]bool
}

func (v *comparing) take(c git.Change, wanted func(string) bool) {
	is := func(f *git.File) bool { return f != nil && wanted(f.Path) }
	if !is(c.Before) && !is(c.After) {
		return
	}
	if v.touched == nil {
		v.touched = map[string]bool{}
	}
	note := func(f *git.File) {
		if !v.touched[f.Path] {
			v.touched[f.Path] = true
			v.Touched = append(v.Touched, f.Path)
		}
	}
	if c.Before != nil {
		note(c.Before)
		v.keep(&v.before, *c.Before)
	}
	if c.After != nil {
		note(c.After)
		v.keep(&v.after, *c.After)
	}
	if c.Before != nil && c.After != nil {
		v.Was[v.repo.Name(c.After.Path)] = v.repo.Name(c.Before.Path)
	}
}

// keep adds a file that a search would find.
func (v *comparing) keep(list *[]git.File, f git.File) {
	if v.searched(f) {
		*list = append(*list, f)
		v.folders[path.Dir(f.Path)] = true
	}
}

// searched reports whether a search of the repository would read a file.
func (v *comparing) searched(f git.File) bool {
	return source.Searched(f.Path) && !v.Excluded.Has(v.repo.Name(f.Path))
}

// neighbors adds the files that did not change, where one cluster may be in several.
func (v *comparing) neighbors(ctx context.Context) error {
	for folder := range v.folders {
		files, err := v.repo.List(ctx, v.from, folder)
		if err != nil {
			return err
		}
		files = slices.DeleteFunc(files, func(f git.File) bool { return v.touched[f.Path] || !v.searched(f) })
		texts, err := v.repo.Read(ctx, files)
		if err != nil {
			return err
		}
		for _, f := range files {
			if v.Shared(texts[f.Hash]) {
				v.before, v.after = append(v.before, f), append(v.after, f)
			}
		}
	}
	return nil
}

// sources reads files, those of the working tree when they are reached.
func (v *comparing) sources(ctx context.Context, files []git.File) ([]source.Source, error) {
	slices.SortFunc(files, func(a, b git.File) int { return strings.Compare(a.Path, b.Path) })
	texts, err := v.repo.Read(ctx, slices.DeleteFunc(slices.Clone(files), func(f git.File) bool { return f.Hash == "" }))
	if err != nil {
		return nil, err
	}
	var list []source.Source
	for _, f := range files {
		name := v.repo.Name(f.Path)
		if f.Hash == "" {
			list = append(list, source.Source{Name: name, Path: name})
			continue
		}
		at, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		list = append(list, source.FromText(name, at, texts[f.Hash]))
	}
	return list, nil
}
