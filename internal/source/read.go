// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// MaxDocument is the size of the largest document that is read. It is several
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

// Read reads the source once, to its end. It reads no more than MaxFile and a byte. What is known of a file is read
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
	if text.Bytes, err = io.ReadAll(io.LimitReader(r, MaxFile+1)); err != nil {
		err = unreadable(s.Name, err)
	}
	return text, err
}

// Documents cuts a text where kubectl does. An error ends it, for a document that is too large.
func (t Text) Documents() iter.Seq2[yamledit.Chunk, error] {
	return func(yield func(yamledit.Chunk, error) bool) {
		for c := range yamledit.Documents(t.Name, t.Bytes) {
			var err error
			switch {
			case len(c.Bytes) > MaxDocument:
				err = tooLarge(c, "document", MaxDocument)
			case c.Offset+len(c.Bytes) > MaxFile:
				err = tooLarge(c.Next(), "file", MaxFile)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// tooLarge refuses what carries a cluster past the bound: what is not read may hold one.
func tooLarge(c yamledit.Chunk, what string, most int) error {
	return &yamledit.Error{
		File: c.File, Line: c.Line + 1,
		What: fmt.Sprintf("the %s is larger than %d MiB, so it is not read, and whether it holds a cluster is unknown", what, most>>20),
		Do:   "put the clusters into smaller files, and leave out this one with --exclude",
	}
}
