// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/internal/git"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// version is the files that a repository has before or after a change, for overlays.
type version struct {
	*git.Repository
	tree git.Tree
}

// Top implements source.Version.
func (v version) Top(string) string { return v.Repository.Top() }

// Folders implements source.Version.
func (v version) Folders(top string) []string {
	of := map[string]bool{}
	for p := range v.tree {
		of[filepath.Join(top, path.Dir(p))] = true
	}
	return lists.Keys(of)
}

// mostLinks is how many links a path has at most.
const mostLinks = 40

// Real implements source.Version.
func (v version) Real(at string) string {
	rel, err := filepath.Rel(v.Repository.Top(), at)
	if err != nil {
		return at
	}
	rel = filepath.ToSlash(rel)
	for range mostLinks {
		link := ""
		for p := rel; p != "." && p != "/"; p = path.Dir(p) {
			if f, is := v.tree[p]; is && f.Kind() != "" {
				link = p
			}
		}
		if link == "" {
			break
		}
		rel = path.Join(v.Target(v.tree[link]), strings.TrimPrefix(rel, link))
	}
	return filepath.Join(v.Repository.Top(), rel)
}

// file is the regular file at a path.
func (v version) file(at string) (f git.File, found bool) {
	rel, err := filepath.Rel(v.Repository.Top(), at)
	f, found = v.tree[filepath.ToSlash(rel)]
	return f, err == nil && found && f.Kind() == ""
}

// Has implements source.Version.
func (v version) Has(at string) bool {
	_, found := v.file(at)
	return found
}

// Read implements source.Version.
func (v version) Read(at string) ([]byte, error) {
	switch f, found := v.file(at); {
	case !found:
		return nil, fs.ErrNotExist
	case f.Hash == "":
		return source.Disk{}.Read(at)
	default:
		return v.Repository.Read(f, source.MostText)
	}
}

// overlaid makes files that did not change part of both versions if what is laid over them did.
func (v *Comparison) overlaid() {
	all, requested := map[string]bool{}, map[string]bool{}
	for _, c := range v.Changes {
		for _, f := range []*git.File{c.Before, c.After} {
			if f != nil {
				at := filepath.Join(v.repo.Top(), f.Path)
				all[at], requested[at] = true, v.touched[f.Path]
			}
		}
	}
	for _, o := range []*source.Overlays{v.Before.Overlays, v.After.Overlays} {
		some, every := v.paths(o.Affected(requested)), v.paths(o.Affected(all))
		for p := range v.Before.tree {
			if some.has(p) || every.has(p) && v.requested.Has(p) {
				v.affected[p], v.folders[path.Dir(p)] = true, true
			}
		}
	}
}

// paths are files and folders of the repository.
type paths map[string]bool

func (v *Comparison) paths(absolute []string) paths {
	of := paths{}
	for _, at := range absolute {
		if rel, err := filepath.Rel(v.repo.Top(), at); err == nil {
			of[filepath.ToSlash(rel)] = true
		}
	}
	return of
}

// has reports whether a file, or a folder around it, is one of them.
func (of paths) has(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if of[p] {
			return true
		}
	}
	return of["."]
}
