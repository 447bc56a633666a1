// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rke-lm/rke-lm/transform/action"
)

// disk is what changes a file system; tests put one in its place that fails.
type disk struct {
	makeFolders   func(path string, mode fs.FileMode) error
	makeTemporary func(parent string) (string, *os.File, error)
	writeFile     func(path, content string) error
	rename        func(from, to string) error
	remove        func(path string) error
	sync          func(folder string) error
}

var realDisk = disk{os.MkdirAll, temporaryFolder, writeFile, os.Rename, os.RemoveAll, syncFolder}

func writeFile(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// ReplaceFolder makes a folder of files, for the user alone, in the place of the one that is there if exists is set.
// When it returns an error, what was there is there.
func ReplaceFolder(path string, content []action.File, exists bool) error {
	return realDisk.replaceFolder(path, content, exists)
}

// replaceFolder completes a folder, so that all of it is on the disk, before it puts it in its place.
func (d disk) replaceFolder(path string, content []action.File, exists bool) (err error) {
	if err := d.makeFolders(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	made, held, err := d.makeTemporary(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer held.Close()
	defer func() {
		if err != nil {
			d.remove(made)
		}
	}()
	for _, f := range content {
		if err := d.writeFile(filepath.Join(made, f.Name), f.Content); err != nil {
			return err
		}
	}
	if err := d.sync(made); err != nil {
		return err
	}
	return d.put(made, path, exists)
}

// put gives a complete folder its name. A folder cannot replace one that is not
// empty, so an old one is moved out of the way first, and back on an error.
func (d disk) put(made, path string, exists bool) error {
	old := made + oldSuffix
	if exists {
		held, _ := acquire(path)
		defer held.Close()
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
	// The new folder is there; what fails from here on cannot be undone.
	d.sync(filepath.Dir(path))
	if exists {
		d.remove(old)
	}
	return nil
}

// oldSuffix marks a folder whose place another one takes.
const oldSuffix = ".old"

// RestoreFolders ends what killed runs have begun in a folder. A folder that [ReplaceFolder] has moved out of the way gets
// the name back that it had, if nothing has that now.
func RestoreFolders(parent string, nameOf func(folder string) (string, error)) {
	left, _ := fs.Glob(os.DirFS(parent), pattern+oldSuffix)
	for _, name := range left {
		reclaim(filepath.Join(parent, name), func(old string) error {
			had, err := nameOf(old)
			path := filepath.Join(parent, had)
			if _, there := os.Lstat(path); err == nil && errors.Is(there, fs.ErrNotExist) {
				return os.Rename(old, path)
			}
			return os.RemoveAll(old)
		})
	}
	cleanOnce(parent)
}
