// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// MaxDocument is the size of the largest document that is read. It is several
	// times what an API server takes, so no larger document is a Kubernetes object.
	MaxDocument = 16 << 20
	// MaxFile is the size of the largest file or stream of clusters.
	MaxFile = 64 << 20
	// readSize is large enough that system calls do not show.
	readSize = 64 << 10
)

// Stats reports what a scan met.
type Stats struct {
	Documents int   // all of them, as Split would count
	Skipped   int   // not wanted
	Bytes     int64 // read up to the end of the last document counted
	// Info is what the file system said of a file before it was read; nil for a
	// stream.
	Info fs.FileInfo
}

// Scan reads the source document by document. It calls each, in order, with the
// documents that want finds worth parsing; want is given the raw text, must not
// keep it, and may be nil to want all. The bytes of a chunk are its own. An
// error of each ends the scan and is returned as it is.
func (s Source) Scan(want func(text []byte) bool, each func(yamledit.Chunk) error) (Stats, error) {
	r, info, err := s.open()
	if err != nil {
		return Stats{}, err
	}
	defer r.Close() // nothing was written
	sc := scanner{next: yamledit.Chunk{File: s.Name}, want: want, each: each, stats: Stats{Info: info}}
	err = sc.run(bufio.NewReaderSize(r, readSize))
	return sc.stats, err
}

// scanner cuts a stream into chunks.
type scanner struct {
	next  yamledit.Chunk // place of the document that is read
	want  func([]byte) bool
	each  func(yamledit.Chunk) error
	stats Stats
}

func (sc *scanner) run(r *bufio.Reader) error {
	var cut yamledit.Cutter
	var doc []byte
	for line := 0; ; {
		part, err := r.ReadSlice('\n')
		doc = append(doc, part...)
		partial := err == bufio.ErrBufferFull
		if !partial && cut.Opens(doc[line:]) {
			if err := sc.pass(doc[:line]); err != nil {
				return err
			}
			doc, line = append(doc[:0], doc[line:]...), 0
		}
		switch {
		case len(doc) > MaxDocument:
			return sc.tooLarge("document", MaxDocument)
		case sc.next.Offset+len(doc) > MaxFile:
			return sc.tooLarge("file", MaxFile)
		case err == io.EOF:
			return sc.pass(doc)
		case err == nil:
			line = len(doc)
		case !partial:
			return unreadable(sc.next.File, err)
		}
	}
}

// pass passes on a document if it is wanted.
func (sc *scanner) pass(text []byte) (err error) {
	sc.stats.Documents++
	if c := sc.next; sc.want == nil || sc.want(text) {
		c.Bytes = bytes.Clone(text)
		err = sc.each(c)
	} else {
		sc.stats.Skipped++
	}
	sc.next.Bytes = text
	sc.next = sc.next.Next()
	sc.stats.Bytes = int64(sc.next.Offset)
	return err
}

// tooLarge refuses what carries a cluster past the bound: what is not read may hold one.
func (sc *scanner) tooLarge(what string, most int) error {
	return &yamledit.Error{
		File: sc.next.File, Line: sc.next.Line + 1,
		What: fmt.Sprintf("the %s is larger than %d MiB, so it is not read, and whether it holds a cluster is unknown", what, most>>20),
		Do:   "put the clusters into smaller files, and leave out this one with --exclude",
	}
}
