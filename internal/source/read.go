// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
