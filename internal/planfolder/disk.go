// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"errors"
	"os"

	"github.com/rke-lm/rke-lm/internal/files"
)

// disk is what changes a file system; tests put one in its place that fails.
type disk interface {
	makeFolders(path string) error
	makeTemporary(parent string) (string, files.Lock, error)
	writeFile(path string, content []byte) error
	rename(from, to string) error
	remove(path string) error
	sync(folder string) error
}

// realDisk makes what it makes for the user alone.
type realDisk struct{}

func (realDisk) makeFolders(path string) error { return os.MkdirAll(path, 0o700) }

// makeTemporary makes a folder that is hidden, so that no search for clusters
// enters it.
func (realDisk) makeTemporary(parent string) (string, files.Lock, error) {
	return files.TemporaryFolder(parent)
}

func (realDisk) writeFile(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

func (realDisk) rename(from, to string) error { return os.Rename(from, to) }

func (realDisk) remove(path string) error { return os.RemoveAll(path) }

func (realDisk) sync(folder string) error { return files.SyncFolder(folder) }
