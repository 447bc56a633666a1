// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// extensions are those of the files looked for in a folder, the first ones for clusters and all for
// forms that are not read; a file that is named may have any.
var (
	yaml       = []string{".yaml", ".yml", ".json"}
	extensions = append(yaml, forms.Extensions()...)
)

// Find returns the files that paths name and those in the folders they name, in
// the order given and by name within a folder. A file is returned once, however
// often and under however many names it is reached. The path "-" is stdin.
//
// What is left out is neither read nor entered, also if it is named.
//
// An error does not end the search: what was found is returned with it.
func Find(paths []string, stdin io.Reader, without Excluded) ([]Source, error) {
	f := finder{stdin: stdin, without: without, at: map[string]int{}}
	for _, p := range paths {
		f.path(p)
	}
	return f.found, errors.Join(f.errs...)
}

type finder struct {
	stdin   io.Reader
	without Excluded
	found   []Source
	at      map[string]int // position in found of each real path
	errs    []error
}

// path adds what was given on the command line.
func (f *finder) path(path string) {
	info, err := os.Stat(path)
	switch {
	case path == "-":
		f.add("-", FromReader(yamledit.Stdin, f.stdin))
	case path == "":
		f.fail("a path is empty; use a file, a folder, or - for standard input")
	case f.without.Has(path):
	case errors.Is(err, fs.ErrNotExist):
		f.fail("%s: no such file or folder; check the path", path)
	case err != nil:
		f.errs = append(f.errs, unreadable(path, err))
	case info.IsDir():
		f.folder(path)
	case !info.Mode().IsRegular():
		f.fail("%s: is %s, neither a file nor a folder; use a file, or pipe the text and use -", path, kind(info.Mode()))
	default:
		f.add(realPath(path), Source{Name: path, Path: path, Named: true})
	}
}

func (f *finder) fail(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// add keeps the first name of a file; named once is named.
func (f *finder) add(key string, s Source) {
	if i, twice := f.at[key]; twice {
		f.found[i].Named = f.found[i].Named || s.Named
		return
	}
	f.at[key] = len(f.found)
	f.found = append(f.found, s)
}

// folder adds the files below a folder. Only the entries below it are hidden by
// a dot: the folder itself was requested.
func (f *finder) folder(root string) {
	// The separator makes the walk enter a root that is a link.
	top := root + string(filepath.Separator)
	visit := func(path string, e fs.DirEntry, err error) error {
		left := err == nil && path != top && (strings.HasPrefix(e.Name(), ".") || f.without.Has(path))
		switch {
		case err != nil:
			f.errs = append(f.errs, unreadable(path, err))
		case left && e.IsDir():
			return filepath.SkipDir
		case left: // but not what is next to it
		case slices.Contains(extensions, filepath.Ext(path)):
			f.entry(path, e)
		}
		return nil
	}
	_ = filepath.WalkDir(top, visit) // visit keeps the errors
}

// entry adds a file, or a link to one. A link to nothing is added too: opening
// it fails with its name, where leaving it out could hide a cluster.
func (f *finder) entry(path string, e fs.DirEntry) {
	regular := e.Type().IsRegular()
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		regular = err != nil || info.Mode().IsRegular()
	}
	if regular {
		f.add(realPath(path), Source{Name: path, Path: path})
	}
}

// realPath identifies a file whatever links lead to it.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "something special"
}
