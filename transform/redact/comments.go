// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
)

// comments returns the secrets in the comments on lines of a document, and in those that are joined with them. Lines of
// comments one after the other are read as one text: a manifest that was commented out, a key of several lines.
func comments(text []byte, in span) []span {
	if bytes.IndexByte(text[in.start:in.end], '#') < 0 {
		return nil
	}
	for in.start > 0 && wholeComment(lineAt(text, in.start-1)) {
		in.start = lineStart(text, in.start-1)
	}
	for in.end < len(text) && wholeComment(lineAt(text, in.end)) {
		in.end = lineEnd(text, in.end)
	}
	c := commentReader{text: text, data: manifest.Match(text)}
	for start := in.start; start < in.end; {
		end := start + len(lineAt(text, start))
		whole := wholeComment(text[start:end])
		if !whole {
			c.flush()
		}
		if at := commentStart(text[start:end]); at >= 0 {
			c.add(start+at, end)
		}
		if !whole {
			c.flush()
		}
		start = end + 1
	}
	c.flush()
	count(in.end - in.start)
	return c.found
}

// wholeComment reports whether a line is a comment from its start.
func wholeComment(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#"))
}

// commentReader joins lines of comments to one text, without their marks.
type commentReader struct {
	text  []byte
	data  bool
	found []span
	block []byte
	lines []commentLine
}

// commentLine is where a line of the joined text comes from.
type commentLine struct{ at, from int }

func (c *commentReader) add(start, end int) {
	for start < end && c.text[start] == '#' {
		start++
	}
	c.lines = append(c.lines, commentLine{len(c.block), start})
	c.block = append(append(c.block, c.text[start:end]...), '\n')
}

// flush reads the lines that were joined. A secret never goes over the end of a
// line here.
func (c *commentReader) flush() {
	line := 0
	for _, s := range assignments(c.block, c.data) {
		for line > 0 && c.lines[line].at > s.start {
			line--
		}
		for line+1 < len(c.lines) && c.lines[line+1].at <= s.start {
			line++
		}
		move := c.lines[line].from - c.lines[line].at
		c.found = append(c.found, span{s.start + move, s.end + move})
	}
	c.block, c.lines = c.block[:0], c.lines[:0]
}

// commentStart returns where a comment may start on a line: one # too many
// hides too much, never too little.
func commentStart(line []byte) int {
	for i, c := range line {
		if c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
	return -1
}
