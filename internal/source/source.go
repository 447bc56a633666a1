// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Source is one file, or one stream that is read once.
type Source struct {
	Name  string // for messages: as given, or as found in a given folder
	Path  string // to open the file; empty for a stream
	Named bool   // given by the user, not found in a folder

	// Values is for the values file of a chart, which describes the only cluster of a run
	// together with the documents of the others.
	Values bool

	stream func() (io.Reader, error)
	at     string // absolute path where the bytes of a stream would be a file
}

// FromReader returns a source that is not a file. It can be scanned once.
func FromReader(name string, r io.Reader) Source {
	return Source{Name: name, Named: true, stream: func() (io.Reader, error) { return r, nil }}
}

// FromVersion returns a source whose bytes are those of a file at another time: it is no file, and
// belongs with those that are in its folder. It is opened when it is reached.
func FromVersion(name, path string, read func() ([]byte, error)) Source {
	return Source{Name: name, at: path, stream: func() (io.Reader, error) {
		text, err := read()
		return bytes.NewReader(text), err
	}}
}

// Searched reports whether a file is one of those looked for in a folder, by its path below
// that folder, or may be a script, which needs no ending.
func Searched(path string) bool {
	return slices.Contains(append(extensions, ""), filepath.Ext(path)) && entered(filepath.FromSlash(path))
}

// OtherForm reports whether a file is read for forms alone: it was found by a name that no file
// of a cluster has.
func (s Source) OtherForm() bool {
	return !s.Named && !s.Values && !slices.Contains(yaml, filepath.Ext(s.Name))
}

// IsFile reports whether the source can be opened again and replaced.
func (s Source) IsFile() bool { return s.Path != "" }

// unreadable names the source once: errors of the os package name the path too.
func unreadable(name string, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s: cannot read it: %w; check the path and its permissions", name, err)
}

// WithValues marks the source that is the values file at a path, and adds it where none of them is.
// The operator names it, so it is read whatever its name and its place are.
func WithValues(sources []Source, path string, without Excluded) ([]Source, error) {
	const flag = "--ccm-values: "
	info, err := os.Stat(path)
	switch {
	case path == "-":
		return nil, fmt.Errorf(flag + "standard input is no file that helm can read later; name a file")
	case err != nil:
		return nil, fmt.Errorf(flag+"%w", unreadable(path, err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf(flag+"%s: is %s, and no file; name the values file", path, kind(info.Mode()))
	case without.Has(path):
		return nil, fmt.Errorf(flag+"%s: --exclude leaves it out; remove one of the two", path)
	}
	others := slices.DeleteFunc(slices.Clone(sources), func(s Source) bool {
		at := s.Absolute()
		return at != "" && realPath(at) == realPath(path)
	})
	return append(others, Source{Name: path, Path: path, Values: true}), nil
}
