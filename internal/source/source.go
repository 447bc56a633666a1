// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package source finds the files that a command line names and reads the YAML
// documents in them.
//
// Invariant: a source is read once, and whole. One above [MaxFile], a document above [MaxDocument]
// and such an item of a list are errors with their place, never skipped and never cut.
//
// What a document means, and whether a file without a cluster is an error, is
// the caller's to say.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/internal/git"
	"github.com/rke-lm/rke-lm/transform/yamledit"
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
	return fmt.Errorf("%s: cannot read it: %w; check the path and its permissions", name, files.Cause(err))
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
		return at != "" && files.Real(at) == files.Real(path)
	})
	return append(others, Source{Name: path, Path: path, Values: true}), nil
}

const (
	// MaxDocument is the size of the largest document, or item of a list, that is read. It is several
	// times what an API server takes, so no larger document is a Kubernetes object.
	MaxDocument = 16 << 20
	// MaxFile is the size of the largest file or stream of clusters.
	MaxFile = 64 << 20
)

// Text is what was read of a source.
type Text struct {
	Source
	Bytes []byte
	// Info is what the file system said of a file before it was read; nil for a
	// stream.
	Info fs.FileInfo
}

// Read reads the source once, to its end, unless it is larger than MaxFile. What is known of a file is read
// before its first byte, so that a later change shows.
func (s Source) Read() (text Text, err error) {
	text.Source = s
	var r io.Reader
	if s.IsFile() {
		f, err := os.Open(s.Path)
		if err != nil {
			return text, unreadable(s.Name, err)
		}
		defer f.Close() // nothing was written
		if text.Info, err = f.Stat(); err != nil {
			return text, unreadable(s.Name, err)
		}
		r = f
	} else if r, err = s.stream(); err != nil {
		return text, err
	}
	large := false
	if text.Bytes, large, err = files.ReadAll(r, MaxFile); large {
		err = tooLarge(s.Name, 0, "file", MaxFile)
	} else if err != nil {
		err = unreadable(s.Name, err)
	}
	return text, err
}

// Documents cuts a text where kubectl does. An error ends it, for a document that is too large; the items of a
// list count one by one.
func (t Text) Documents() iter.Seq2[yamledit.Chunk, error] {
	return func(yield func(yamledit.Chunk, error) bool) {
		for c := range yamledit.Documents(t.Name, t.Bytes) {
			err := checkSize(c)
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// checkSize refuses a document above the bound, unless it is a list of which no item is.
func checkSize(c yamledit.Chunk) error {
	if len(c.Bytes) <= MaxDocument {
		return nil
	}
	items := []yamledit.Chunk{c}
	if bytes.Contains(c.Bytes, []byte("items")) { // it takes seconds to parse
		items = yamledit.Items(c, yamledit.Parse)
	}
	for _, item := range items {
		if len(item.Bytes) > MaxDocument {
			return tooLarge(item.File, item.Line+1, "document", MaxDocument)
		}
	}
	return nil
}

// tooLarge refuses what may hold a cluster, and is not read.
func tooLarge(file string, line int, what string, most int) error {
	return &yamledit.Error{
		File: file, Line: line,
		What: fmt.Sprintf("the %s is larger than %d MiB, so it is not read, and whether it holds a cluster is unknown", what, most>>20),
		Do:   "put the clusters into smaller files, and leave out this one with --exclude",
	}
}

const (
	// mostFolders bounds a search; no repository comes near it.
	mostFolders = 100_000
	// levels is how far a search goes up where no repository ends it.
	levels = 3
	// MostText is the size of the largest kustomization or patch that is read.
	MostText = 1 << 20
)

// Disk is the files as they are now.
type Disk struct{}

// Top implements Version: it is the repository, or else a few levels up.
func (Disk) Top(folder string) string {
	if top, _ := git.Top(folder); top != "" {
		return top
	}
	top, temporary := folder, files.Real(os.TempDir())
	home, err := os.UserHomeDir()
	if err == nil {
		home = files.Real(home)
	}
	for range levels {
		folder = filepath.Dir(folder)
		if folder != filepath.Dir(folder) && folder != home && folder != temporary {
			top = folder
		}
	}
	return top
}

// Folders implements Version. What cannot be entered has no kustomization that can be read either.
func (Disk) Folders(top string) (all []string) {
	_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return nil
		case path != top && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case len(all) == mostFolders:
			return filepath.SkipAll
		}
		all = append(all, path)
		return nil
	})
	return all
}

// Real implements Version.
func (Disk) Real(path string) string { return files.Real(path) }

// Has implements Version.
func (Disk) Has(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Read implements Version.
func (Disk) Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > MostText:
		return nil, errors.New("not a file of that kind")
	}
	return os.ReadFile(path)
}
