// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/lists"
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
		f.add(files.Real(path), Source{Name: path, Path: path, Named: true})
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
			// A link to nothing is added too: opening it fails with its name, where leaving it out could hide a cluster.
			if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
				f.add(files.Real(path), Source{Name: path, Path: path})
			}
		}
		return nil
	}
	_ = filepath.WalkDir(top, visit) // visit keeps the errors
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

// Covers returns the first path whose search would enter the given folder, which
// need not be there yet.
func Covers(paths []string, folder string) (path string, covered bool) {
	inner := files.Real(folder)
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil || !info.IsDir() {
			continue
		}
		if rel, err := filepath.Rel(files.Real(p), inner); err == nil && entered(rel) {
			return p, true
		}
	}
	return "", false
}

// entered reports whether a search enters a folder: it stays
// below its start and meets nothing hidden.
func entered(rel string) bool {
	hidden := func(part string) bool { return strings.HasPrefix(part, ".") }
	return rel == "." || !slices.ContainsFunc(strings.Split(rel, string(filepath.Separator)), hidden)
}

// Absolute returns the absolute path of a file, or of what was one, and "" for a stream, and without a working folder.
func (s Source) Absolute() string {
	if !s.IsFile() {
		return s.at
	}
	at, _ := filepath.Abs(s.Path)
	return at
}

// Excluded are patterns of files and folders that are left out.
type Excluded struct {
	globs []string
	from  string // the folder, as an absolute path
}

// Exclude checks patterns. One without a slash is for a name in any folder, others are for paths as
// seen from a folder, in which ** is for any number of folders.
func Exclude(from string, globs []string) (e Excluded, err error) {
	if len(globs) == 0 {
		return e, nil
	}
	if e.from, err = filepath.Abs(from); err != nil {
		return e, err
	}
	for _, glob := range globs {
		if glob == "" || !doublestar.ValidatePattern(glob) {
			return e, fmt.Errorf("--exclude: %q is not a pattern; use one such as values*.yaml, charts or clusters/**/test", glob)
		}
		clean := path.Clean(glob)
		if !strings.Contains(clean, "/") && !strings.HasPrefix(glob, "./") {
			clean = "**/" + clean
		}
		e.globs = append(e.globs, clean)
	}
	return e, nil
}

// Has reports whether a file or folder, or a folder that it is in, is left out.
func (e Excluded) Has(name string) bool { return e.By(name) != "" }

// By is the pattern that leaves out a file or folder, or a folder that it is in; "" for none.
func (e Excluded) By(name string) string {
	absolute, err := filepath.Abs(name)
	if len(e.globs) == 0 || err != nil {
		return ""
	}
	for at := absolute; ; at = filepath.Dir(at) {
		if by := e.matching(at); by != "" || at == filepath.Dir(at) || at == e.from {
			return strings.TrimPrefix(by, "**/")
		}
	}
}

// matching compares a path as seen from the folder of the patterns, and as it is.
func (e Excluded) matching(at string) string {
	whole := filepath.ToSlash(at)
	seen := whole
	if rel, err := filepath.Rel(e.from, at); err == nil {
		seen = filepath.ToSlash(rel)
	}
	glob, _ := lists.Find(e.globs, func(glob string) bool {
		return doublestar.MatchUnvalidated(glob, seen) || path.IsAbs(glob) && doublestar.MatchUnvalidated(glob, whole)
	})
	return glob
}
