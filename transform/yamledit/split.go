// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import "bytes"

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

// Split cuts a stream into the documents that a YAML parser sees in it.
func Split(file string, stream []byte) []Chunk {
	var chunks []Chunk
	c := Chunk{File: file}
	for len(stream) > 0 || c.Index == 0 {
		n := Boundary(stream, true)
		c.Bytes = stream[:n:n]
		chunks = append(chunks, c)
		stream = stream[n:]
		c = c.next()
		if n == 0 {
			break
		}
	}
	return chunks
}

func (c Chunk) next() Chunk {
	return Chunk{File: c.File, Index: c.Index + 1, Line: c.Line + CountLines(c.Bytes), Offset: c.Offset + len(c.Bytes)}
}

// CountLines returns the number of line breaks in b, as the parser counts them.
func CountLines(b []byte) int {
	if otherBreaks(b) {
		return indexLines(b).count() - 1
	}
	return bytes.Count(b, []byte{'\n'})
}

// otherBreaks reports whether there may be a line break other than LF: CR, NEL, LS or PS.
func otherBreaks(b []byte) bool {
	return bytes.IndexByte(b, '\r') >= 0 || bytes.IndexByte(b, 0xC2) >= 0 || bytes.IndexByte(b, 0xE2) >= 0
}

// Boundary returns the length of the first document of stream. With eof false
// more text may follow: it returns -1 when the end cannot be known yet.
func Boundary(stream []byte, eof bool) int {
	s := splitter{src: stream}
	if bytes.HasPrefix(stream, []byte(bom)) {
		s.pos = len(bom)
	}
	for {
		s.skipPreamble()
		end, ok := s.nextMarker()
		if !ok {
			if eof {
				return len(stream)
			}
			return -1
		}
		if s.isEnd(end) { // "...": the document ends after this line
			s.pos = s.lineAfter(end)
			return s.closeAt(s.pos, eof)
		}
		if s.content {
			return s.closeAt(end, eof)
		}
		s.content = true // the first "---" opens the document
		s.pos = end + 3
	}
}

// splitter walks over a stream without parsing it.
type splitter struct {
	src     []byte
	pos     int
	content bool // a "---" or a content line was seen
}

// closeAt ends the document at off. Comments and blank lines after the last
// document belong to it; -1 says that more text is needed to tell.
func (s *splitter) closeAt(off int, eof bool) int {
	rest := splitter{src: s.src, pos: off}
	switch {
	case !eof && len(s.src)-off < 4:
		return -1
	case !s.content || rest.hasDocument():
		return off
	case eof:
		return len(s.src)
	}
	return -1
}

// hasDocument reports whether anything but blank lines, comments and end
// markers follows.
func (s *splitter) hasDocument() bool {
	for {
		s.skipPreamble()
		if s.content || s.isMarker(s.pos, "---") {
			return true
		}
		if s.pos >= len(s.src) {
			return false
		}
		s.pos = s.lineAfter(s.pos)
	}
}

// skipPreamble moves over blank lines, comments and directives in front of a
// document, and sets content when it meets anything else.
func (s *splitter) skipPreamble() {
	for !s.content && s.pos < len(s.src) {
		if s.isMarker(s.pos, "---") || s.isMarker(s.pos, "...") {
			return
		}
		i := s.pos
		for i < len(s.src) && (s.src[i] == ' ' || s.src[i] == '\t') {
			i++
		}
		if i < len(s.src) && s.src[i] != '#' && s.src[i] != '%' && breakLen(s.src[i:]) == 0 {
			s.content = true
			return
		}
		s.pos = s.lineAfter(i)
	}
}

// nextMarker finds the next line, from pos on, that starts with a marker. Nearly always all
// breaks up to there are LF: then one pass over the lines finds it.
func (s *splitter) nextMarker() (int, bool) {
	i := s.markerAfterLF()
	if s.pos < i && otherBreaks(s.src[s.pos:i]) {
		i = s.markerBefore(i)
	}
	return i, i < len(s.src)
}

// markerAfterLF returns the next marker at pos or after a LF, or the end of the text.
func (s *splitter) markerAfterLF() int {
	if s.pos < len(s.src) && s.atLineStart(s.pos) && s.marks(s.pos) {
		return s.pos
	}
	for i := s.pos; i < len(s.src); {
		n := bytes.IndexByte(s.src[i:], '\n')
		if n < 0 {
			break
		}
		if i += n + 1; i < len(s.src) && s.marks(i) {
			return i
		}
	}
	return len(s.src)
}

// markerBefore returns the next marker after any break, or an offset before which there is none.
func (s *splitter) markerBefore(end int) int {
	dash := s.next("---", s.pos, end)
	dots := s.next("...", s.pos, dash)
	for dash < end || dots < end {
		i := min(dash, dots)
		if s.atLineStart(i) && s.marks(i) {
			return i
		}
		if i == dash {
			dash = s.next("---", i+1, end)
		}
		dots = s.next("...", i+1, dash)
	}
	return end
}

// marks reports whether a marker is at off.
func (s *splitter) marks(off int) bool {
	switch s.src[off] {
	case '-':
		return s.isMarker(off, "---")
	case '.':
		return s.isMarker(off, "...")
	}
	return false
}

// next returns the offset of the next m that begins in [from, to), or to. The search is
// bounded, or a stream without m would be searched to its end for every document.
func (s *splitter) next(m string, from, to int) int {
	if from >= to {
		return to
	}
	if i := bytes.Index(s.src[from:min(to+len(m)-1, len(s.src))], []byte(m)); i >= 0 {
		return from + i
	}
	return to
}

func (s *splitter) isEnd(off int) bool { return s.src[off] == '.' }

// isMarker reports whether the three bytes at off are m, followed by a blank, a
// break or the end.
func (s *splitter) isMarker(off int, m string) bool {
	b := s.src[off:]
	if !bytes.HasPrefix(b, []byte(m)) {
		return false
	}
	return len(b) == 3 || b[3] == ' ' || b[3] == '\t' || breakLen(b[3:]) > 0
}

func (s *splitter) atLineStart(off int) bool {
	if off == 0 || off == len(bom) && bytes.HasPrefix(s.src, []byte(bom)) {
		return true
	}
	for n := 1; n <= 3 && n <= off; n++ {
		if breakLen(s.src[off-n:off]) == n {
			return true
		}
	}
	return false
}

// lineAfter returns the start of the line after the one that holds off.
func (s *splitter) lineAfter(off int) int {
	for i := off; i < len(s.src); i++ {
		if n := breakLen(s.src[i:]); n > 0 {
			return i + n
		}
	}
	return len(s.src)
}
