// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Lines returns the lines of Document from the offset start up to end, both where a line
// of the document starts or its text ends.
func Lines(d *yamledit.Document, start, end int) []byte {
	if start == end {
		return nil
	}
	text, shown := d.Bytes(), Document(d)
	from := afterLines(shown, bytes.Count(text[:start], newline))
	if end == len(text) {
		return shown[from:] // with what is after the last line break
	}
	return shown[from:afterLines(shown, bytes.Count(text[:end], newline))]
}

var newline = []byte("\n")

// afterLines returns the offset after the first n lines.
func afterLines(text []byte, n int) (at int) {
	for range n {
		at = lineEnd(text, at)
	}
	return at
}

// lineStart returns the offset of the first byte of the line that has an offset.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns the offset after the line that has an offset, its line break included.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// lineAt returns the line that has an offset, without its line break.
func lineAt(text []byte, at int) []byte {
	return bytes.TrimSuffix(text[lineStart(text, at):lineEnd(text, at)], newline)
}
