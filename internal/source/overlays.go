// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rke-lm/rke-lm/transform/kustomize"
)

// Overlays finds the kustomizations and the overlays of Fleet that take files over.
// A file is looked for in its own folder and those around it; where a kustomization
// there has it, all of the repository is searched for those that build on that one.
// Each folder is read once. It may be used by several goroutines.
type Overlays struct {
	mutex  sync.Mutex
	of     map[string]*kustomization   // by folder; nil where there is none
	below  map[string][]*kustomization // by the top of a search
	around map[string]string           // the top for a folder
}

// kustomization is one with its real folder.
type kustomization struct {
	*kustomize.Kustomization
	folder   string
	resolved bool
}

const (
	// mostFolders bounds a search; no repository comes near it.
	mostFolders = 100_000
	// levels is how far a search goes up where no repository ends it.
	levels = 3
	// mostText is the size of the largest kustomization or patch that is read.
	mostText = 1 << 20
)

// Use returns what overlays make of a file.
func (o *Overlays) Use(s Source) kustomize.Use {
	given := cmp.Or(s.Path, s.at)
	if given == "" {
		return kustomize.Use{Roots: []string{s.Name}}
	}
	file := realPath(given)
	if o == nil {
		return kustomize.Use{Roots: []string{filepath.Dir(file)}}
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.of == nil {
		o.of, o.below, o.around = map[string]*kustomization{}, map[string][]*kustomization{}, map[string]string{}
	}
	shown := display(given)
	top := o.top(filepath.Dir(file))
	var use kustomize.Use
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if k := o.at(dir, shown); k != nil {
			if listed(k.PatchFiles(), dir, file) {
				use.PatchOf = k.Kustomization
				return use
			}
			if listed(k.Refs(), dir, file) {
				use.Layers, use.Built = o.building(k, top, shown)
				use.Roots = []string{filepath.Dir(file)}
				for _, b := range use.Built {
					use.Roots = append(use.Roots, "kustomization "+b.Folder)
				}
				return use
			}
		}
		if dir == top || dir == filepath.Dir(dir) {
			break
		}
	}
	use.Layers, use.Roots = o.fleet(file, top, shown)
	return use
}

// listed reports whether one of the paths that a folder's kustomization writes is
// the file or folder.
func listed(refs []string, dir, path string) bool {
	return slices.ContainsFunc(refs, func(ref string) bool { return filepath.Join(dir, ref) == path })
}

// building returns the kustomization, with its components, and all that build on it.
func (o *Overlays) building(first *kustomization, top string, shown func(string) string) (layers, built []*kustomize.Kustomization) {
	all := []*kustomization{first}
	under := map[*kustomization]bool{} // taken over by another one
	for i := 0; i < len(all); i++ {
		k := all[i]
		for _, ref := range k.Components() {
			if c := o.at(filepath.Join(k.folder, ref), shown); c != nil && !slices.Contains(all, c) {
				all, under[c] = append(all, c), true
			}
		}
		for _, other := range o.search(top, shown) {
			if !listed(other.Refs(), other.folder, k.folder) || other == k {
				continue
			}
			under[k] = true
			if !slices.Contains(all, other) {
				all = append(all, other)
			}
		}
	}
	for _, k := range all {
		k.resolve(shown)
		layers = append(layers, k.Kustomization)
		if !under[k] {
			built = append(built, k.Kustomization)
		}
	}
	return layers, built
}

// resolve reads the patches of a kustomization, once.
func (k *kustomization) resolve(shown func(string) string) {
	if k.resolved {
		return
	}
	k.resolved = true
	k.Resolve(func(path string) (string, []byte, error) {
		path = filepath.Join(k.folder, path)
		text, err := readSmall(path)
		return shown(path), text, err
	})
}

// at returns the kustomization of a folder, or nil.
func (o *Overlays) at(dir string, shown func(string) string) *kustomization {
	if k, known := o.of[dir]; known {
		return k
	}
	o.of[dir] = nil
	for _, name := range kustomize.FileNames() {
		path := filepath.Join(dir, name)
		text, err := readSmall(path)
		if err != nil {
			continue
		}
		if k, ok := kustomize.Parse(shown(path), shown(dir), text); ok {
			o.of[dir] = &kustomization{Kustomization: k, folder: dir}
			break
		}
	}
	return o.of[dir]
}

// search returns the kustomizations below a folder.
func (o *Overlays) search(top string, shown func(string) string) []*kustomization {
	if found, known := o.below[top]; known {
		return found
	}
	var found []*kustomization
	folders := 0
	// What cannot be entered has no kustomization that can be read either.
	_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return nil
		case path != top && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		}
		if folders++; folders > mostFolders {
			return filepath.SkipAll
		}
		if k := o.at(path, shown); k != nil {
			found = append(found, k)
		}
		return nil
	})
	o.below[top] = found
	return found
}

// top returns the folder in which all that belongs to a folder is looked for: the
// repository, or else a few levels up.
func (o *Overlays) top(dir string) string {
	if top, known := o.around[dir]; known {
		return top
	}
	top := dir
	home, _ := os.UserHomeDir()
	for d, up := dir, 0; ; d, up = filepath.Dir(d), up+1 {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			top = d
			break
		}
		if d == filepath.Dir(d) {
			break
		}
		if up <= levels && d != home && d != realPath(os.TempDir()) {
			top = d
		}
	}
	o.around[dir] = top
	return top
}

// fleet returns what Fleet lays over a file of the bundle that it belongs to, and its roots.
func (o *Overlays) fleet(file, top string, shown func(string) string) (layers []*kustomize.Kustomization, roots []string) {
	roots = []string{filepath.Dir(file)}
	for dir := roots[0]; ; dir = filepath.Dir(dir) {
		if text, err := readSmall(filepath.Join(dir, kustomize.FleetFile)); err == nil {
			rel, err := filepath.Rel(dir, file)
			if err != nil {
				return nil, roots
			}
			if roots = append(roots, "bundle "+dir); strings.HasPrefix(rel, "overlays"+string(filepath.Separator)) {
				return nil, nil // it is laid over other files
			}
			for _, over := range kustomize.FleetOverlays(text, filepath.ToSlash(rel)) {
				path := filepath.Join(dir, over)
				if text, err := readSmall(path); err == nil && path != file {
					layers = append(layers, kustomize.FleetOverlay(shown(path), text))
				}
			}
			return layers, roots
		}
		if dir == top || dir == filepath.Dir(dir) {
			return nil, roots
		}
	}
}

// readSmall reads a regular file that is not larger than a kustomization is.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > mostText:
		return nil, errors.New("not a file of that kind")
	}
	return os.ReadFile(path)
}

// display returns how messages name paths next to one that the user gave: relative
// to the working folder where that one is.
func display(given string) func(string) string {
	here, err := os.Getwd()
	if err != nil || filepath.IsAbs(given) {
		return func(path string) string { return path }
	}
	here = realPath(here)
	return func(path string) string {
		if rel, err := filepath.Rel(here, path); err == nil {
			return rel
		}
		return path
	}
}
