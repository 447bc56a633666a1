// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"slices"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Lines returns the lines of a document from the offset start up to end, both where a line
// starts or the text ends, without its secrets. They are those of Document, and the rest of the document is
// read where it is their context.
func Lines(d *yamledit.Document, start, end int) []byte {
	if start == end {
		return nil
	}
	text := d.Bytes()
	in := span{start, end}
	if !local(text) {
		in = span{0, len(text)}
	}
	var splices []yamledit.Splice
	for {
		splices = within(secretsAndShapes(d, in), in)
		wide := around(text, splices, in)
		if wide == in {
			break
		}
		in = wide
	}
	for i := range splices {
		splices[i].Start -= in.start
		splices[i].End -= in.start
	}
	shown := applied(text[in.start:in.end], splices)
	shown = shown[afterLines(shown, bytes.Count(text[in.start:start], newline)):]
	if end == len(text) {
		return shown // with what is after the last line break
	}
	return shown[:afterLines(shown, bytes.Count(text[start:end], newline))]
}

var newline = []byte("\n")

// local reports whether lines tell about other lines only by the structure of the document:
// no alias has its text elsewhere, and no private key and no element has several lines.
func local(text []byte) bool {
	aliases := bytes.IndexByte(text, '*') >= 0 && bytes.IndexByte(text, '&') >= 0
	several := []string{"PRIVATE KEY", "Static key", "PuTTY-User-Key-File-", "</"}
	return !aliases && !slices.ContainsFunc(several, func(mark string) bool { return bytes.Contains(text, []byte(mark)) })
}

// secretsAndShapes returns splices for all secrets in a range of whole lines; some hide more.
func secretsAndShapes(d *yamledit.Document, in span) []yamledit.Splice {
	text := d.Bytes()
	found := shapes(text[in.start:in.end])
	for i := range found {
		found[i].start += in.start
		found[i].end += in.start
	}
	return append(secrets(d, in), covers(text, append(found, comments(text, in)...))...)
}

// within returns the splices that change something in a range.
func within(splices []yamledit.Splice, in span) []yamledit.Splice {
	return slices.DeleteFunc(splices, func(s yamledit.Splice) bool { return s.End <= in.start || s.Start >= in.end })
}

// around returns the range with all lines that splices reach.
func around(text []byte, splices []yamledit.Splice, in span) span {
	for _, s := range splices {
		if s.Start < in.start {
			in.start = lineStart(text, s.Start)
		}
		if s.End > in.end {
			in.end = lineEnd(text, s.End)
		}
	}
	return in
}

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
