// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"iter"
	"slices"
	"strings"
)

// Stdin is the File of a chunk that was read from standard input.
const Stdin = "<stdin>"

// Chunk is the text of one document of a stream, markers and surrounding
// comments included. The chunks of a stream, joined, are the stream.
type Chunk struct {
	File   string // name for messages
	Index  int    // 0-based number of the document in its stream
	Item   int    // 1-based number of the object in a list of them; 0 for a whole document
	Line   int    // number of lines before the chunk
	Offset int    // number of bytes before the chunk
	Bytes  []byte
	Served bool // by an API server: there is no file with these lines
}

// Split cuts a stream into documents where kubectl does.
func Split(file string, stream []byte) []Chunk { return slices.Collect(Documents(file, stream)) }

// Documents yields the documents of a stream one by one: there may be millions of empty ones.
func Documents(file string, stream []byte) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		var cut Cutter
		c := Chunk{File: file}
		at := 0
		for line := range bytes.Lines(stream) {
			if cut.Opens(line) {
				c.Bytes = stream[c.Offset:at:at]
				if !yield(c) {
					return
				}
				c = c.Next()
			}
			at += len(line)
		}
		c.Bytes = stream[c.Offset:at:at]
		yield(c)
	}
}

// Next returns the empty chunk after c.
func (c Chunk) Next() Chunk {
	return Chunk{File: c.File, Index: c.Index + 1, Line: c.Line + CountLines(c.Bytes), Offset: c.Offset + len(c.Bytes)}
}

// Cutter cuts a stream into documents, line by line. As for kubectl, a line ends with a LF,
// and only "---" begins a document. A second document after "..." or another line break,
// which kubectl does not read, stays in the chunk, and Parse refuses it.
type Cutter struct{ begun bool }

// Opens reports whether the next line begins another document. Comments and directives before
// the first "---" belong to the first document.
func (c *Cutter) Opens(line []byte) bool {
	opens := isMarker(line)
	if opens && c.begun {
		return true
	}
	line = bytes.TrimLeft(bytes.TrimPrefix(line, []byte(bom)), " \t\r\n")
	c.begun = c.begun || opens || len(line) > 0 && line[0] != '#' && line[0] != '%'
	return false
}

// isMarker reports whether a line begins with the marker of a document.
func isMarker(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// CountLines returns the number of line breaks in b, as the parser counts them.
func CountLines(b []byte) int {
	if isPlain(b) {
		return bytes.Count(b, []byte{'\n'})
	}
	return indexLines(b).count() - 1
}
