// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rke-lm/rke-lm/transform"
)

// target is the file that is replaced.
type target struct {
	path string // as given, for messages
	real string // after all links are followed
	info fs.FileInfo
}

// resolve follows links. A file that is gone has changed since it was seen.
func resolve(path string) (target, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return target{}, missing(path, err)
	}
	info, err := os.Lstat(real)
	if err != nil {
		return target{}, missing(path, err)
	}
	return target{path: path, real: real, info: info}, nil
}

func missing(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: the file does not exist, or it is a link to a file that does not exist; check the path and run the command again", path, ErrChanged)
	}
	return fmt.Errorf("%s: cannot be replaced: %w; check the path", path, cause(err))
}

func (t target) folder() string { return filepath.Dir(t.real) }

// replaceable refuses what a rename would do and a write in place would not.
func (t target) replaceable(seen fs.FileInfo) error {
	mode, links := t.info.Mode(), identify(t.info).links
	switch {
	case !mode.IsRegular():
		return fmt.Errorf("%s: is not a regular file and cannot be replaced; name a file", t.path)
	case mode&0o200 == 0:
		return fmt.Errorf("%s: the file is read-only: %w; make it writable first (chmod u+w)", t.path, fs.ErrPermission)
	case links > 1:
		return fmt.Errorf("%s: the file has %d names (hard links), and the others would keep the old content; remove the links, or use a copy", t.path, links)
	}
	return t.unchanged(seen)
}

// keepOwner gives the new file the owner of the old one. It leaves alone what is
// right already: only root may give files away.
func (t target) keepOwner(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return cause(err)
	}
	old, made := identify(t.info), identify(info)
	if old.uid == made.uid && old.gid == made.gid {
		return nil
	}
	if err := f.Chown(old.uid, old.gid); err != nil {
		return fmt.Errorf("its owner (user %d, group %d) cannot be kept: %w; run the command as that user, or use a copy of the file", old.uid, old.gid, cause(err))
	}
	return nil
}

// ErrChanged means that a file is not the one that was read.
var ErrChanged = transform.NewError(transform.ExitRefused, "has changed since it was read")

// Unchanged refuses, with an error that wraps [ErrChanged], a file that is not as it was seen; nil is no file. Take what is
// seen from the open file before the first byte is read, so that a change while reading shows as well.
func Unchanged(path string, seen fs.FileInfo) error {
	t, err := resolve(path)
	if err != nil {
		return err
	}
	return t.unchanged(seen)
}

func (t target) unchanged(seen fs.FileInfo) error {
	if os.SameFile(seen, t.info) && seen.Size() == t.info.Size() && seen.ModTime().Equal(t.info.ModTime()) {
		return nil
	}
	return fmt.Errorf("%s: %w; run the command again", t.path, ErrChanged)
}
