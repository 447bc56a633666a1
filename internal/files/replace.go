// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package files replaces the content of a file, or a folder of files, as a whole or not at all, and makes folders that
// are removed before the run ends. It removes what runs that were killed have left, reads up to a bound,
// and follows links.
//
// Invariant: at every moment, through every error, panic and power cut, the
// path holds either all of the old bytes or all of the new ones; and what is
// not content – links to the file, mode, owner, access list – stays. Where that
// cannot be had, nothing is written and the error says why.
//
// The file must be the one that was read: see [Unchanged]. Nothing temporary of a process that is alive is
// removed, and nothing of another user.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
)

// Replace gives the file at path another content. Links are
// followed and stay. It refuses, with an error that wraps [ErrChanged], a file
// that is not as it was seen; errors about permissions wrap [fs.ErrPermission].
//
// When it returns an error, the file is as it was and nothing is left next to it.
func Replace(path string, seen fs.FileInfo, text []byte) error {
	return replace(path, seen, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// replace does so with what write produces; also if it panics.
func replace(path string, seen fs.FileInfo, write func(io.Writer) error) error {
	t, err := resolve(path)
	if err != nil {
		return err
	}
	if err := t.replaceable(seen); err != nil {
		return err
	}
	cleanOnce(t.folder())
	f, held, err := temporaryFile(t.folder())
	if err != nil {
		return fmt.Errorf("%s: cannot create a file in the folder %s: %w; make the folder writable, or use a copy of the file", path, t.folder(), Cause(err))
	}
	defer held.Close()
	defer os.Remove(f.Name()) // on a panic too; after the rename nothing has this name
	defer f.Close()
	if err := errors.Join(t.fill(f, write), f.Close()); err != nil {
		return fmt.Errorf("%s: unchanged: %w", path, err)
	}
	// Again, because writing may have taken long. Between this look and the
	// rename a change would be lost; no system call does both.
	if err := Unchanged(path, seen); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), t.real); err != nil {
		return fmt.Errorf("%s: unchanged: cannot replace it: %w; use a copy of the file", path, Cause(err))
	}
	syncFolder(t.folder()) // the rename cannot be undone if that fails
	return nil
}

// fill completes the temporary file: when it returns, all of it is on the disk.
// The owner comes first, for a change of owner takes bits off the mode, and the
// mode last, for writing does too.
func (t target) fill(f *os.File, write func(io.Writer) error) error {
	if err := t.keepOwner(f); err != nil {
		return err
	}
	if err := copyAccessList(t.real, f.Name()); err != nil {
		return fmt.Errorf("cannot keep its access control list: %w; use a copy of the file", Cause(err))
	}
	if err := write(f); err != nil {
		return Cause(err)
	}
	if err := f.Chmod(t.info.Mode()); err != nil {
		return fmt.Errorf("cannot keep its mode: %w; use a copy of the file", Cause(err))
	}
	return Cause(f.Sync())
}

// syncFolder makes what was done in a folder last; some file systems cannot, which is
// no error.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	d.Sync()
	return d.Close()
}

// Cause takes from an error of the os package the name of the file, which is a
// temporary one or is said already.
func Cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		return link.Err
	}
	return err
}

// Real is the absolute path of a file or a folder with links followed. It need not be there yet.
func Real(path string) string {
	if here, err := os.Getwd(); err == nil && !filepath.IsAbs(path) {
		path = here + string(filepath.Separator) + path // not cleaned: link/.. is above the target of the link
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	folder, name := filepath.Split(strings.TrimRight(path, string(filepath.Separator)))
	if name == "" {
		return path
	}
	return filepath.Join(Real(folder), name)
}

// ReadAll reads to the end, or reports that there are more bytes than most; of a file, before it is read.
func ReadAll(r io.Reader, most int64) (text []byte, large bool, err error) {
	if f, is := r.(*os.File); is {
		if info, err := f.Stat(); err == nil && info.Size() > most {
			return nil, true, nil
		}
	}
	if text, err = io.ReadAll(io.LimitReader(r, most+1)); int64(len(text)) > most {
		return nil, true, nil
	}
	return text, false, err
}

// target is the file that is replaced.
type target struct {
	path string // as given, for messages
	real string // after all links are followed
	info fs.FileInfo
}

// resolve follows links. A file that is gone has changed since it was seen.
func resolve(path string) (target, error) {
	t := target{path: path}
	var err error
	if t.real, err = filepath.EvalSymlinks(path); err == nil {
		t.info, err = os.Lstat(t.real)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s: %w: the file does not exist, or it is a link to a file that does not exist; check the path and run the command again", path, ErrChanged)
	case err != nil:
		err = fmt.Errorf("%s: cannot be replaced: %w; check the path", path, Cause(err))
	}
	return t, err
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
		return Cause(err)
	}
	old, made := identify(t.info), identify(info)
	if old.uid == made.uid && old.gid == made.gid {
		return nil
	}
	if err := f.Chown(old.uid, old.gid); err != nil {
		return fmt.Errorf("its owner (user %d, group %d) cannot be kept: %w; run the command as that user, or use a copy of the file", old.uid, old.gid, Cause(err))
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
