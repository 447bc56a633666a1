// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// MaxDocument is the size of the largest document that is read. It is several
// times what an API server takes, so no larger document is a Kubernetes object.
const MaxDocument = 16 << 20

// ErrBinary means that a source does not hold text in UTF-8.
var ErrBinary = errors.New("not text in UTF-8")

// Stats reports what a scan met.
type Stats struct {
	Documents int   // all of them, as Split would count
	Skipped   int   // not wanted
	Oversize  int   // larger than MaxDocument, so never asked for
	Bytes     int64 // read up to the end of the last document counted
	// Info is what the file system said of a file before it was read; nil for a
	// stream.
	Info fs.FileInfo
}

// Scan reads the source document by document. It calls each, in order, with the
// documents that want finds worth parsing; want is given the raw text, must not
// keep it, and may be nil to want all. The bytes of a chunk are its own. An
// error of each ends the scan and is returned as it is.
//
// Two things differ from [yamledit.Split]: a document above [MaxDocument] is
// left out, and a last document that only comments after its end marker ("...")
// take above it is cut at the marker.
func (s Source) Scan(want func(text []byte) bool, each func(yamledit.Chunk) error) (Stats, error) {
	r, info, err := s.open()
	if err != nil {
		return Stats{}, err
	}
	defer r.Close() // nothing was written
	size := int64(readSize)
	if info != nil {
		size = info.Size()
	}
	sc := scanner{
		text: window{r: r, first: int(min(size, readSize)) + 1},
		max:  MaxDocument,
		look: firstLook,
		next: yamledit.Chunk{File: s.Name},
		want: want, each: each,
		stats: Stats{Info: info},
	}
	err = sc.run()
	return sc.stats, err
}

// scanner cuts a stream into chunks.
type scanner struct {
	text  window
	max   int            // MaxDocument, smaller in tests
	look  int            // firstLook, smaller in tests
	last  int            // size of the document before
	next  yamledit.Chunk // place of the document that the window starts with
	gone  part           // what passOver took out of that document
	want  func([]byte) bool
	each  func(yamledit.Chunk) error
	stats Stats
}

// part is a length of text.
type part struct{ bytes, lines int }

func (sc *scanner) run() error {
	if err := sc.checkText(); err != nil {
		return err
	}
	return sc.cut()
}

// cut passes on one document after the other; an empty stream is one too.
func (sc *scanner) cut() error {
	for more := true; more; more = !sc.text.done() {
		n, err := sc.boundary()
		if err != nil {
			return unreadable(sc.next.File, err)
		}
		if err := sc.hand(sc.text.held[:n]); err != nil {
			return err
		}
		sc.advance(n)
	}
	return nil
}

// checkText looks at the start only: a stray NUL after that in a text file is
// the parser's to report, with its line.
func (sc *scanner) checkText() error {
	const start = 8 << 10
	if err := sc.text.fill(start); err != nil {
		return unreadable(sc.next.File, err)
	}
	b := sc.text.held[:min(start, len(sc.text.held))]
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		return fmt.Errorf("%s: %w: it is UTF-16; save it as UTF-8", sc.next.File, ErrBinary)
	case bytes.IndexByte(b, 0) >= 0:
		return fmt.Errorf("%s: %w: it contains a NUL byte; name a YAML or JSON file", sc.next.File, ErrBinary)
	}
	return nil
}

// hand passes on the document in text if it is whole and wanted.
func (sc *scanner) hand(text []byte) error {
	sc.stats.Documents++
	switch {
	case sc.gone.bytes > 0 || len(text) > sc.max:
		sc.stats.Oversize++
	case sc.want != nil && !sc.want(text):
		sc.stats.Skipped++
	default:
		c := sc.next
		c.Bytes = bytes.Clone(text)
		return sc.each(c)
	}
	return nil
}

// advance moves to the document after the first n bytes of the window.
func (sc *scanner) advance(n int) {
	sc.next.Index++
	sc.next.Offset += n + sc.gone.bytes
	sc.next.Line += yamledit.CountLines(sc.text.held[:n]) + sc.gone.lines
	sc.gone, sc.last = part{}, n
	sc.text.drop(n)
	sc.stats.Bytes = int64(sc.next.Offset)
}
