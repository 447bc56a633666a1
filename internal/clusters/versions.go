// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/git"
	"github.com/rke-lm/rke-lm/internal/planfolder"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Comparison has the sources of two versions of a repository: the files that differ, and
// those in their folders that may describe the same clusters.
type Comparison struct {
	Finder
	Before, After Version
	Changes       []git.Change      // all of them, also those that were not requested
	Links         []review.Link     // that belong to the change
	Away          map[string]string // the names of files after, by those before, if they are not read or not requested any more
	Skipped       map[string]int    // changed files that are not read, by the reason

	repo      *git.Repository
	requested Requested
	values    string            // the values file; "" for none
	was       map[string]string // the names of renamed files before, by those after
	folders   map[string]bool   // that hold a changed file
	touched   map[string]bool
	affected  map[string]bool // did not change, and what is laid over them did
	unnamed   map[string]bool // have a cluster, and a name that no search looks for
}

// Version is what is read before a change or after it.
type Version struct {
	Sources  []source.Source
	Excluded map[string][]source.Source // by the pattern
	Overlays *source.Overlays

	tree  git.Tree
	files []git.File // of Sources
}

// Text is that of a file by its name; nil where there is none.
func (v Version) Text(name string) []byte {
	at, _ := filepath.Abs(name)
	text, err := v.Overlays.Version.Read(at)
	switch {
	case err == nil:
		return text
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return []byte{0} // it is there, and cannot be read
}

// Requested are the files and folders of a repository that a run is about; none for all.
type Requested []string

// Has reports whether a path of the repository is requested.
func (r Requested) Has(name string) bool {
	in := func(root string) bool { return root == "." || name == root || strings.HasPrefix(name, root+"/") }
	return len(r) == 0 || slices.ContainsFunc(r, in)
}

// Earlier is the name of a file before the change.
func (v *Comparison) Earlier(file string) string { return cmp.Or(v.was[file], file) }

// Compare reads the files that differ between a commit, whose files are base, and another one, or with "" the
// working tree.
func (f Finder) Compare(ctx context.Context, repo *git.Repository, from, to string, base git.Tree, requested Requested) (*Comparison, error) {
	changes, err := repo.Changes(ctx, from, to)
	if err != nil {
		return nil, err
	}
	after := base.Changed(changes)
	v := &Comparison{
		Finder: f, Before: newVersion(repo, base), After: newVersion(repo, after), Changes: changes, Away: map[string]string{}, Skipped: map[string]int{},
		repo: repo, requested: requested, was: map[string]string{},
		folders: map[string]bool{}, touched: map[string]bool{}, affected: map[string]bool{}, unnamed: map[string]bool{},
	}
	if err := errors.Join(v.findRequested(), v.findValues()); err != nil {
		return nil, err
	}
	for _, c := range changes {
		v.add(c)
	}
	v.lead()
	v.overlaid()
	err = v.neighbors()
	v.Before.Sources, v.After.Sources = v.sources(v.Before.files), v.sources(v.After.files)
	return v, err
}

func newVersion(repo *git.Repository, tree git.Tree) Version {
	return Version{Overlays: source.NewOverlays(version{repo, tree}), Excluded: map[string][]source.Source{}, tree: tree}
}

// findRequested refuses paths that would be compared with nothing.
func (v *Comparison) findRequested() error {
	paths := v.requested
	if at, inside := v.repo.Path(v.Values); v.Values != "" && inside {
		paths = append(paths, at)
	}
	files := lists.Keys(v.Before.tree, v.After.tree)
	for _, root := range paths {
		f, is := v.After.tree[root]
		if !slices.ContainsFunc(files, Requested{root}.Has) || is && f.Kind() != "" {
			return fmt.Errorf("%s: no file or folder before the change or after it; check the path", v.repo.Name(root))
		}
	}
	return nil
}

// findValues makes the values file, and the clusters near it, part of both versions.
func (v *Comparison) findValues() error {
	if v.Values == "" {
		return nil
	}
	at, inside := v.repo.Path(v.Values)
	if !inside {
		return fmt.Errorf("--ccm-values: %s: not in this repository; name a file of it", v.Values)
	}
	v.values, v.folders[path.Dir(at)] = at, true
	for _, r := range v.requested {
		v.folders[r], v.folders[path.Dir(r)] = true, true
	}
	return nil
}

func (v *Comparison) add(c git.Change) {
	is := func(f *git.File) bool { return f != nil && (f.Path == v.values || v.requested.Has(f.Path)) }
	if !is(c.Before) && !is(c.After) {
		v.Skipped["not in a PATH"]++
		return
	}
	if c.Before != nil {
		v.unnamed[c.Before.Path] = v.describes(*c.Before)
	}
	if c.After != nil && (c.Before == nil || !v.searched(*c.Before)) { // else another name hides a cluster
		v.unnamed[c.After.Path] = v.describes(*c.After)
	}
	if skipped := cmp.Or(v.keep(&v.Before, c.Before), v.keep(&v.After, c.After)); skipped != "" {
		v.Skipped[skipped]++
	}
	if c.Before != nil && c.After != nil {
		before, after := v.repo.Name(c.Before.Path), v.repo.Name(c.After.Path)
		v.was[after] = before
		if is(c.Before) && (!is(c.After) || !v.searched(*c.After)) {
			v.Away[before] = after
		}
	}
}

// keep adds a file of a version that a search would find, or a link that it would follow. It returns
// why others are skipped.
func (v *Comparison) keep(of *Version, f *git.File) (skipped string) {
	if f == nil {
		return ""
	}
	v.touched[f.Path] = true
	by := v.Excluded.By(v.repo.Name(f.Path))
	switch {
	case f.Path == v.values || f.Kind() == "" && v.searched(*f):
		of.files = append(of.files, *f)
		v.folders[path.Dir(f.Path)] = true
		return ""
	case f.Kind() == "" && !source.Searched(f.Path) && !v.unnamed[f.Path]:
		return "hidden, or of another type"
	case by != "":
		of.Excluded[by] = append(of.Excluded[by], v.sources(lists.If(f.Kind() == "", *f))...)
		return "excluded"
	}
	v.link(*f, of.tree)
	return "links and submodules"
}

// link adds a link, unless it is another name of a file, and one that no search looks for.
func (v *Comparison) link(f git.File, in git.Tree) {
	to, found := in[v.repo.Target(f)]
	folder := git.File{Path: f.Path + ".yaml"} // its name needs no ending
	if of := (review.Link{File: v.repo.Name(f.Path), Kind: f.Kind()}); !slices.Contains(v.Links, of) && v.searched(folder) && (v.searched(f) || !found || to.Kind() != "") {
		v.Links = append(v.Links, of)
	}
}

// lead adds the links that lead out of the requested paths to files that the change edits.
func (v *Comparison) lead() {
	for _, p := range lists.Keys(v.After.tree) {
		f := v.After.tree[p]
		if f.Kind() == "" || v.touched[p] || !v.requested.Has(p) {
			continue
		}
		to := v.repo.Target(f)
		edited := func(c *git.File) bool {
			return c != nil && !(v.requested.Has(c.Path) && v.searched(*c)) && Requested{to}.Has(c.Path)
		}
		if slices.ContainsFunc(v.Changes, func(c git.Change) bool { return edited(c.Before) || edited(c.After) }) {
			v.Links = append(v.Links, review.Link{File: v.repo.Name(p), Kind: f.Kind(), Edited: v.repo.Name(to)})
		}
	}
}

// searched reports whether a search of the repository would read a file.
func (v *Comparison) searched(f git.File) bool {
	return f.Path == v.values || (source.Searched(f.Path) || v.unnamed[f.Path]) && !v.Excluded.Has(v.repo.Name(f.Path))
}

// describes reports whether a file with a name that no search looks for has a cluster: kustomize and a kubelet
// read files of any name.
func (v *Comparison) describes(f git.File) bool {
	if f.Kind() != "" || source.Searched(f.Path) {
		return false
	}
	text, err := v.sources([]git.File{f})[0].Read()
	if err != nil || !v.words(text.Bytes) {
		return false
	}
	for c, err := range text.Documents() {
		if err != nil {
			return false
		}
		if _, found, err := v.Open(c); err == nil && found.Docs != nil {
			return true
		}
	}
	return false
}

// neighbors adds the files that did not change, where one cluster may be in several.
func (v *Comparison) neighbors() error {
	for _, p := range lists.Keys(v.Before.tree) {
		f := v.Before.tree[p]
		if v.affected[p] && !v.touched[p] {
			v.unnamed[p] = v.describes(f)
		}
		if !v.folders[path.Dir(p)] || f.Kind() != "" || v.touched[p] || !v.searched(f) {
			continue
		}
		text, err := v.repo.Read(f, source.MaxFile)
		if err != nil {
			return err
		}
		grouped := p == v.values || v.values != "" && v.requested.Has(p) && v.words(text) || v.Shared(text)
		if grouped || v.touched[path.Join(path.Dir(p), planfolder.PlanFile)] || v.affected[p] && (v.words(text) || yamledit.Disguised(text)) {
			v.Before.files, v.After.files = append(v.Before.files, f), append(v.After.files, f)
		}
	}
	return nil
}

// Rest are the sources of the requested files that did not change and may describe clusters.
func (v *Comparison) Rest() []source.Source {
	var files []git.File
	for p, f := range v.Before.tree {
		if f.Kind() == "" && !v.touched[p] && p != v.values && v.searched(f) && v.requested.Has(p) {
			files = append(files, f)
		}
	}
	return slices.DeleteFunc(v.sources(files), source.Source.OtherForm)
}

// sources are files, each read when it is reached.
func (v *Comparison) sources(files []git.File) []source.Source {
	slices.SortFunc(files, func(a, b git.File) int { return strings.Compare(a.Path, b.Path) })
	return lists.Map(files, func(f git.File) source.Source {
		name := v.repo.Name(f.Path)
		s := source.Source{Name: name, Path: name}
		if f.Hash != "" {
			at := s.Absolute()
			s = source.FromVersion(name, at, func() ([]byte, error) { return v.repo.Read(f, source.MaxFile) })
		}
		s.Values, s.Named = f.Path == v.values, v.unnamed[f.Path]
		return s
	})
}

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
		some, every := o.Affected(requested), o.Affected(all)
		for p := range v.Before.tree {
			if v.within(some, p) || v.within(every, p) && v.requested.Has(p) {
				v.affected[p], v.folders[path.Dir(p)] = true, true
			}
		}
	}
}

// within reports whether a file, or a folder of the repository around it, is one of some.
func (v *Comparison) within(some map[string]bool, p string) bool {
	at, top := filepath.Join(v.repo.Top(), p), v.repo.Top()
	for at != top && !some[at] {
		at = filepath.Dir(at)
	}
	return some[at]
}
