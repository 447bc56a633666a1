// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

const bom = "\xef\xbb\xbf"

// breakLen returns the length in bytes of the line break at the start of b, or
// 0. The set is the parser's: LF, CR, CRLF, NEL, LS, PS.
func breakLen(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == '\n':
		return 1
	case b[0] == '\r':
		if len(b) > 1 && b[1] == '\n' {
			return 2
		}
		return 1
	case b[0] == 0xC2 && len(b) > 1 && b[1] == 0x85:
		return 2
	case b[0] == 0xE2 && len(b) > 2 && b[1] == 0x80 && (b[2] == 0xA8 || b[2] == 0xA9):
		return 3
	}
	return 0
}

// lineIndex maps the parser's line and column numbers to byte offsets.
type lineIndex struct {
	src    []byte
	starts []int // offset of the first byte of each line
	// wide has the lines with characters of several bytes, and the offset of every
	// stride-th character on them. On all others a column is an offset.
	wide map[int][]int
}

// stride bounds how many characters are walked over to find a column: a document in
// JSON may be one line.
const stride = 256

func indexLines(src []byte) *lineIndex {
	ix := &lineIndex{src: src, starts: append(make([]int, 0, bytes.Count(src, []byte{'\n'})+2), 0)}
	if isPlain(src) {
		for i := indexFrom(src, 0, '\n'); i < len(src); i = indexFrom(src, i+1, '\n') {
			ix.starts = append(ix.starts, i+1)
		}
		return ix
	}
	wide := false
	for i := 0; i < len(src); {
		n := breakLen(src[i:])
		if n == 0 {
			wide = wide || src[i] >= utf8.RuneSelf
			i++
			continue
		}
		if wide {
			ix.mark(i)
		}
		wide = false
		i += n
		ix.starts = append(ix.starts, i)
	}
	if wide {
		ix.mark(len(src))
	}
	return ix
}

// isPlain reports whether a text has no line break but LF, and no character of several bytes.
func isPlain(src []byte) bool {
	for _, c := range src {
		if c == '\r' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// mark notes where the characters of the last line are, which ends at end.
func (ix *lineIndex) mark(end int) {
	if ix.wide == nil {
		ix.wide = map[int][]int{}
	}
	line := len(ix.starts) - 1
	i := ix.firstByte(line)
	marks := []int{i}
	for count := 0; i < end; {
		_, n := utf8.DecodeRune(ix.src[i:])
		i += n
		if count++; count%stride == 0 {
			marks = append(marks, i)
		}
	}
	ix.wide[line] = marks
}

// firstByte returns the offset of the first character of a line.
func (ix *lineIndex) firstByte(line int) int {
	i := ix.start(line)
	if i == 0 && bytes.HasPrefix(ix.src, []byte(bom)) {
		i = len(bom)
	}
	return i
}

// count returns the number of lines; text after the last break is a line, and
// so is the empty rest after a final break.
func (ix *lineIndex) count() int { return len(ix.starts) }

// start returns the offset of 0-based line l, or the end of the text.
func (ix *lineIndex) start(l int) int {
	if l >= len(ix.starts) {
		return len(ix.src)
	}
	return ix.starts[l]
}

// end returns the offset of the break that ends line l, or the end of the text.
func (ix *lineIndex) end(l int) int {
	end := ix.start(l + 1)
	if l+1 >= len(ix.starts) {
		return end
	}
	for i := ix.starts[l]; i < end; i++ {
		if breakLen(ix.src[i:]) > 0 {
			return i
		}
	}
	return end
}

// text returns line l without its break.
func (ix *lineIndex) text(l int) []byte { return ix.src[ix.start(l):ix.end(l)] }

// of returns the 0-based line that holds offset off.
func (ix *lineIndex) of(off int) int {
	return sort.Search(len(ix.starts), func(i int) bool { return ix.starts[i] > off }) - 1
}

// offset converts the parser's 1-based line and column, in runes, to bytes.
func (ix *lineIndex) offset(line, column int) int {
	i := ix.firstByte(line - 1)
	marks, wide := ix.wide[line-1]
	if !wide {
		return min(i+max(column-1, 0), len(ix.src))
	}
	from := min(max(column-1, 0)/stride, len(marks)-1)
	i = marks[from]
	for c := from*stride + 1; c < column && i < len(ix.src); c++ {
		_, n := utf8.DecodeRune(ix.src[i:])
		i += n
	}
	return i
}

// indent returns the number of leading spaces of line l and whether nothing but
// blanks is on it.
func (ix *lineIndex) indent(l int) (spaces int, blank bool) {
	t := ix.text(l)
	if l == 0 {
		t = bytes.TrimPrefix(t, []byte(bom))
	}
	for spaces < len(t) && t[spaces] == ' ' {
		spaces++
	}
	return spaces, len(bytes.TrimLeft(t, " \t")) == 0
}

// column returns the number of runes between the start of off's line and off.
func (ix *lineIndex) column(off int) int {
	s := ix.src[ix.start(ix.of(off)):off]
	return utf8.RuneCount(bytes.TrimPrefix(s, []byte(bom)))
}
