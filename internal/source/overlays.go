// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Overlays finds the kustomizations and the overlays of Fleet that take files over.
// A file is looked for in its own folder and those around it; where a kustomization
// there has it, all of the repository is searched for those that build on that one.
// Each folder is read once. It may be used by several goroutines.
type Overlays struct {
	Version Version // in which files are read; it does not change

	mutex sync.Mutex
	of    map[string]*kustomization // by folder; nil where there is none
	below map[string]*found         // by the top of a search
	tops  map[string]string         // by folder
}

// NewOverlays finds them in a version.
func NewOverlays(v Version) *Overlays {
	return &Overlays{Version: v, of: map[string]*kustomization{}, below: map[string]*found{}, tops: map[string]string{}}
}

// found are the kustomizations below a folder, and those that take a file or a folder over.
type found struct {
	all   []*kustomization
	users map[string][]*kustomization
}

// Version is the files of the disk, or of a version of a repository, by their absolute paths.
type Version interface {
	Top(folder string) string         // the folder in which all that belongs to a folder is looked for
	Folders(top string) []string      // those below a folder that are not hidden
	Real(path string) string          // with links followed
	Has(path string) bool             // reports whether it is a file
	Read(path string) ([]byte, error) // fails for one that is larger than MostText
}

// kustomization is one with its real folder.
type kustomization struct {
	*kustomize.Kustomization
	folder        string
	refs, patches map[string]bool // the real files and folders that it has, and its files of patches
	files         []string        // its own, and all that it is made of
	resolved      bool
}

// Use returns what overlays make of a file.
func (o *Overlays) Use(s Source) kustomize.Use {
	given := cmp.Or(s.Path, s.at)
	file := files.Real(given)
	switch {
	case o != nil && !o.onDisk(): // links of the disk do not count
		file = filepath.Join(files.Real("."), s.Name)
	case given == "":
		return kustomize.Use{Roots: []string{s.Name}}
	case o == nil:
		return kustomize.Use{Roots: []string{filepath.Dir(file)}}
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	shown := display(s.Path)
	folder := filepath.Dir(file)
	top, known := o.tops[folder]
	if !known {
		top = o.Version.Top(folder)
		o.tops[folder] = top
	}
	use := o.fleet(file, top, shown)
	for dir := folder; ; dir = filepath.Dir(dir) {
		if use.Omits == "" && !o.onDisk() {
			use.Omits = o.kustomizing(dir, shown)
		}
		if k := o.at(dir, shown); k != nil {
			if k.patches[file] {
				return kustomize.Use{PatchOf: k.Kustomization}
			}
			if k.refs[file] {
				use.Layers, use.Built = o.building(k, top, shown)
				built := lists.Map(use.Built, func(b *kustomize.Kustomization) string { return "kustomization " + b.Folder })
				use.Roots, use.Omits = append([]string{folder}, built...), ""
				return use
			}
		}
		if dir == top || dir == filepath.Dir(dir) {
			return use
		}
	}
}

func (o *Overlays) onDisk() bool {
	_, is := o.Version.(Disk)
	return is
}

// kustomizing is the file of a folder that kustomize reads, whatever it holds; "" for none.
func (o *Overlays) kustomizing(dir string, shown func(string) string) string {
	for _, name := range kustomize.FileNames() {
		if _, err := o.Version.Read(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return shown(filepath.Join(dir, name))
		}
	}
	return ""
}

// Affected returns the files of the version that kustomizations take over, and the bundles of Fleet,
// whose own files or patches are among those that changed.
func (o *Overlays) Affected(changed map[string]bool) map[string]bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	shown, seen, top, paths := display(""), map[*kustomization]bool{}, o.Version.Top("."), map[string]bool{}
	var add func(*kustomization)
	add = func(k *kustomization) {
		if seen[k] {
			return
		}
		seen[k] = true
		for at := range k.refs {
			if below := o.at(at, shown); below != nil {
				add(below)
			} else {
				paths[at] = true
			}
		}
	}
	for _, k := range o.search(top, shown).all {
		for _, c := range o.withComponents(k, shown) {
			o.resolve(c, shown)
			if slices.ContainsFunc(c.files, func(file string) bool { return changed[file] }) {
				add(k)
			}
		}
	}
	for file := range changed {
		if slices.Contains(kustomize.FileNames(), filepath.Base(file)) {
			paths[filepath.Dir(file)] = true // what it does not have is applied no more
		}
		for dir := file; dir != top && dir != filepath.Dir(dir); {
			dir = filepath.Dir(dir)
			bundle := filepath.Join(dir, kustomize.FleetFile)
			if _, err := o.Version.Read(bundle); file == bundle || file == filepath.Join(dir, kustomize.FleetIgnore) || err == nil && strings.HasPrefix(file, filepath.Join(dir, "overlays")+string(filepath.Separator)) {
				paths[dir] = true
			}
		}
	}
	return paths
}

// reals are the paths that a folder's kustomization writes, with links followed as kustomize and Fleet do.
func (o *Overlays) reals(dir string, refs []string) map[string]bool {
	all := map[string]bool{}
	for _, ref := range refs {
		all[o.Version.Real(filepath.Join(dir, ref))] = true
	}
	return all
}

// building returns the kustomization, with its components, and all that build on it.
func (o *Overlays) building(first *kustomization, top string, shown func(string) string) (layers, built []*kustomize.Kustomization) {
	users := func(k *kustomization) []*kustomization {
		return lists.Where(o.search(top, shown).users[k.folder], func(other *kustomization) bool { return other != k })
	}
	all := reached(first, users)
	for _, k := range all {
		o.resolve(k, shown)
		for _, c := range slices.Backward(o.withComponents(k, shown)[1:]) {
			if !slices.Contains(all, c) {
				layers = append(layers, c.In(k.Kustomization))
			}
		}
		layers = append(layers, k.Kustomization)
		if len(users(k)) == 0 { // no other takes it over
			built = append(built, k.Kustomization)
		}
	}
	return layers, built
}

// withComponents returns a kustomization and its components, with theirs.
func (o *Overlays) withComponents(k *kustomization, shown func(string) string) []*kustomization {
	return reached(k, func(k *kustomization) []*kustomization {
		return lists.Found(k.Components(), func(ref string) (*kustomization, bool) {
			c := o.at(o.Version.Real(filepath.Join(k.folder, ref)), shown)
			return c, c != nil
		})
	})
}

// reached returns a kustomization and those to which a function leads from it, each once.
func reached(first *kustomization, next func(*kustomization) []*kustomization) []*kustomization {
	all, seen := []*kustomization{first}, map[*kustomization]bool{first: true}
	for i := 0; i < len(all); i++ {
		for _, k := range next(all[i]) {
			if !seen[k] {
				seen[k], all = true, append(all, k)
			}
		}
	}
	return all
}

// resolve reads the patches of a kustomization, once.
func (o *Overlays) resolve(k *kustomization, shown func(string) string) {
	if k.resolved {
		return
	}
	k.resolved = true
	var parts []*kustomize.Kustomization
	for _, c := range o.withComponents(k, shown)[1:] {
		o.resolve(c, shown)
		parts = append(parts, c.Kustomization)
	}
	k.Resolve(func(path string) (string, []byte, error) {
		path = o.Version.Real(filepath.Join(k.folder, path))
		k.files = append(k.files, path)
		text, err := o.Version.Read(path)
		return shown(path), text, err
	}, func(path string) bool {
		path = o.Version.Real(filepath.Join(k.folder, path))
		has := o.Version.Has(path)
		if !has {
			k.files = append(k.files, path)
		}
		return has
	}, parts...)
}

// at returns the kustomization of a folder, or nil.
func (o *Overlays) at(dir string, shown func(string) string) *kustomization {
	if k, known := o.of[dir]; known {
		return k
	}
	o.of[dir] = nil
	for _, name := range kustomize.FileNames() {
		path := filepath.Join(dir, name)
		text, err := o.Version.Read(path)
		if err != nil {
			continue
		}
		if k, ok := kustomize.Parse(shown(path), shown(dir), text); ok {
			o.of[dir] = &kustomization{Kustomization: k, folder: dir, refs: o.reals(dir, k.Refs()), patches: o.reals(dir, k.PatchFiles()), files: []string{path}}
			break
		}
	}
	return o.of[dir]
}

// search returns the kustomizations below a folder.
func (o *Overlays) search(top string, shown func(string) string) *found {
	if known := o.below[top]; known != nil {
		return known
	}
	f := &found{users: map[string][]*kustomization{}}
	o.below[top] = f
	for _, folder := range o.Version.Folders(top) {
		if k := o.at(folder, shown); k != nil {
			f.all = append(f.all, k)
			for ref := range k.refs {
				f.users[ref] = append(f.users[ref], k)
			}
		}
	}
	return f
}

// display returns how messages name paths next to one that the user gave: relative
// to the working folder where that one is.
func display(given string) func(string) string {
	return func(path string) string {
		if filepath.IsAbs(given) {
			return path
		}
		if rel, err := filepath.Rel(files.Real("."), path); err == nil {
			return rel
		}
		return path
	}
}

// fleet returns what Fleet lays over a file of the bundle that it belongs to, and the bundle's options.
func (o *Overlays) fleet(file, top string, shown func(string) string) (use kustomize.Use) {
	use.Roots = []string{filepath.Dir(file)}
	for dir := use.Roots[0]; ; dir = filepath.Dir(dir) {
		text, err := o.Version.Read(filepath.Join(dir, kustomize.FleetFile))
		rel, outside := filepath.Rel(dir, file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && dir != top && dir != filepath.Dir(dir):
			continue
		case errors.Is(err, fs.ErrNotExist) || outside != nil:
			return use
		}
		if over, is := strings.CutPrefix(filepath.ToSlash(rel), "overlays/"); is {
			overlay, name, _ := strings.Cut(over, "/")
			if of, patch := strings.CutSuffix(name, "_patch"+filepath.Ext(name)); patch {
				name = of + filepath.Ext(name)
			}
			use.Roots = nil // it is laid over another file
			if _, err := o.Version.Read(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
				use.Roots = []string{filepath.Dir(file), "overlay " + filepath.Join(dir, overlay)}
			}
			return use
		}
		ignored, _ := o.Version.Read(filepath.Join(dir, kustomize.FleetIgnore))
		use.Roots = append(use.Roots, "bundle "+dir)
		use.Roots = append(use.Roots, lists.Map(kustomize.FleetNames(text), func(overlay string) string { return "overlay " + filepath.Join(dir, overlay) })...)
		use.Default, use.Bundle = kustomize.FleetOptions(text)
		use.Bundle += string(ignored)
		if err != nil {
			use.Bundle += err.Error()
		}
		for _, over := range kustomize.FleetOverlays(text, filepath.ToSlash(rel)) {
			path := filepath.Join(dir, over)
			if text, err := o.Version.Read(path); err == nil && path != file {
				use.Layers = append(use.Layers, kustomize.FleetOverlay(shown(path), text))
			}
		}
		return use
	}
}
