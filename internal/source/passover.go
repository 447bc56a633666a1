// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// passOver takes what is too much out of a document that has not ended within.
// What stays in their place is short and leaves the splitter in the same state,
// so that the end is found where it would have been. It returns -1, or the
// length of the document if an end marker turns out to end it, with
// nothing but comments so far after it.
func (sc *scanner) passOver() int {
	text := sc.text.held[:sc.max+1] // a CR at the end of the largest document is whole
	line := lastLine(text)
	var short []byte
	switch n := sc.boundaryWith(line, " \n---\n---\n"); {
	case line == 0: // the state is that of the start
	case n <= line: // a document after the blank line is another one
		return n
	case n == line+2: // its "---" ends this one, so this one has content
		short = []byte("x\n")
	default: // its "---" opens this one
		short = []byte("#\n")
	}
	short = append(short, shorten(text[line:])...)
	sc.gone.bytes += len(text) - len(short)
	sc.gone.lines += yamledit.CountLines(text) - yamledit.CountLines(short)
	sc.text.drop(len(text) - len(short))
	copy(sc.text.held, short)
	return -1
}

// boundaryWith returns the length of the document if the stream ended with the
// given text at off. It overwrites, and restores, the bytes at off.
func (sc *scanner) boundaryWith(off int, ending string) int {
	text := sc.text.held[:off+len(ending)]
	saved := string(text[off:])
	copy(text[off:], ending)
	n := yamledit.Boundary(text, true)
	copy(text[off:], saved)
	return n
}

// lastLine returns the start of the line in which text breaks off. A CR at the
// very end is no break yet, for a LF may follow.
func lastLine(text []byte) int {
	text = bytes.TrimSuffix(text, []byte{'\r'})
	start := bytes.LastIndexByte(text, '\n') + 1
	tail := text[start:]
	if bytes.IndexByte(tail, '\r') < 0 && bytes.IndexByte(tail, 0xC2) < 0 && bytes.IndexByte(tail, 0xE2) < 0 {
		return start // by far the most frequent; the search below is slow
	}
	if i := bytes.LastIndexAny(tail, "\r\u0085\u2028\u2029"); i >= 0 {
		_, n := utf8.DecodeRune(tail[i:])
		start += i + n
	}
	return start
}

// shorten keeps of a line without its end what distinguishes a marker, a comment, a
// blank line and content apart: whether it is indented, how it begins, and a
// line break that may be cut in half.
func shorten(line []byte) []byte {
	const head, tail = 8, 3
	body := bytes.TrimLeft(line, " \t")
	var short []byte
	if len(body) < len(line) {
		short = append(short, ' ')
	}
	if len(body) <= head+tail {
		return append(short, body...)
	}
	short = append(short, body[:head]...)
	short = append(short, 'x') // keeps two halves of runes from meeting
	return append(short, body[len(body)-tail:]...)
}
