// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// ErrForeign means that a folder is not a plan of the same cluster, or holds more
// than one.
var ErrForeign = transform.NewError(transform.ExitRefused, "is not a plan folder of this cluster")

// File is one file of a plan folder apart from plan.json.
type File struct {
	Name    string
	Content []byte
}

// Write writes the plan of a cluster to its folder below root, and returns that.
// A plan of the same cluster is replaced as a whole, if it has nothing that the new one lacks or
// replace is set; another folder is refused with an error that wraps [ErrForeign]. When it returns
// an error, what was there is there.
func Write(root string, s plan.Saved, files []File, replace bool) (string, error) {
	path := filepath.Join(root, Place(s))
	return path, write(realDisk{}, path, s, files, replace)
}

func write(d disk, path string, s plan.Saved, files []File, replace bool) error {
	settle(filepath.Dir(path))
	exists, err := replaceable(path, s, replace)
	if err != nil {
		return err
	}
	if err := fill(d, path, append(slices.Clone(files), File{PlanFile, encode(s, files)}), exists); err != nil {
		return fmt.Errorf("%s: the plan was not written: %w; free disk space, or use another folder", path, err)
	}
	return nil
}

// fill completes a folder, so that all of it is on the disk, before it puts it in its place.
func fill(d disk, path string, files []File, exists bool) (err error) {
	if err := d.makeFolders(filepath.Dir(path)); err != nil {
		return err
	}
	made, lock, err := d.makeTemporary(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer lock.Release()
	defer func() {
		if err != nil {
			d.remove(made)
		}
	}()
	for _, f := range files {
		if err := d.writeFile(filepath.Join(made, f.Name), f.Content); err != nil {
			return err
		}
	}
	if err := d.sync(made); err != nil {
		return err
	}
	return put(d, made, path, exists)
}

// put gives a complete folder its name. A folder cannot replace one that is not
// empty, so an old plan is moved out of the way first, and back on an error.
func put(d disk, made, path string, exists bool) error {
	old := made + oldSuffix
	if exists {
		lock, _ := files.Hold(path)
		defer lock.Release()
		if err := d.rename(path, old); err != nil {
			return err
		}
	}
	if err := d.rename(made, path); err != nil {
		if exists {
			return errors.Join(err, d.rename(old, path))
		}
		return err
	}
	// The new plan is there; what fails from here on cannot be undone.
	d.sync(filepath.Dir(path))
	if exists {
		d.remove(old)
	}
	return nil
}

// replaceable reports whether a folder is there, and refuses one that is not a
// plan of the same cluster and nothing else, or that has to stay.
func replaceable(path string, s plan.Saved, replace bool) (exists bool, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return true, fmt.Errorf("%s: %w, and not a folder; use another one with --out", path, ErrForeign)
	}
	p, err := read(path)
	if err != nil || !p.Cluster.Is(s.Cluster) || p.Source.Document != s.Source.Document && s.Cluster.Name == "" {
		return true, fmt.Errorf("%s: %w; move it, or use another one with --out", path, ErrForeign)
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if e.Name() != PlanFile && !slices.Contains(p.Files, e.Name()) {
			return true, fmt.Errorf("%s: %w only: it contains %s, which would be lost; move that, or use another folder with --out", path, ErrForeign, e.Name())
		}
	}
	if lost := p.Loses(s); err == nil && lost != "" && !replace {
		err = transform.NewError(transform.ExitRefused, fmt.Sprintf("%s: %s; use another folder with --out, or add --replace", path, lost))
	}
	return true, err
}

// oldSuffix marks a plan whose place another one takes.
const oldSuffix = ".old"

// settle ends what killed runs have begun in a folder of plans. An old plan whose
// place is empty gets it back.
func settle(folder string) {
	left, _ := filepath.Glob(filepath.Join(folder, files.Pattern+oldSuffix))
	for _, old := range left {
		files.Take(old, func(string) error {
			p, err := read(old)
			if err != nil {
				return os.RemoveAll(old)
			}
			place := filepath.Join(folder, filepath.Base(Place(p.Saved)))
			if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
				return os.Rename(old, place)
			}
			return os.RemoveAll(old)
		})
	}
	files.Clean(folder)
}
