// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"slices"
)

// lines looks for the lines that hold one of several texts.
func lines(marks ...string) func([]byte) []span {
	return func(text []byte) []span {
		var found []span
		for _, m := range marks {
			for from := 0; ; {
				at := bytes.Index(text[from:], []byte(m))
				if at < 0 {
					break
				}
				line := lineAround(text, from+at)
				found, from = append(found, line), line.end
			}
		}
		return apart(found)
	}
}

// lineAround returns the line that an offset is on, without its break.
func lineAround(text []byte, at int) span {
	line := span{bytes.LastIndexByte(text[:at], '\n') + 1, len(text)}
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		line.end = at + i
	}
	return line
}

// folded looks in any case. Letters outside of ASCII stay, and so do all offsets.
func folded(where func([]byte) []span) func([]byte) []span {
	return func(text []byte) []span {
		lower := slices.Clone(text)
		for i, c := range lower {
			if c >= 'A' && c <= 'Z' {
				lower[i] = c + 'a' - 'A'
			}
		}
		return where(lower)
	}
}

// pairs takes the line before each line as well.
func pairs(where func([]byte) []span) func([]byte) []span {
	return func(text []byte) []span {
		found := where(text)
		for i, line := range found {
			if line.start > 0 {
				found[i].start = lineAround(text, line.start-1).start
			}
		}
		return apart(found)
	}
}

// longRuns looks for the lines with a run of characters of base64 that is as long
// as an AWS secret access key.
func longRuns(text []byte) []span {
	const length = 40
	var found []span
	run := 0
	for i, c := range text {
		run++
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '/' || c == '+') {
			run = 0
		}
		if run == length {
			found = append(found, lineAround(text, i))
		}
	}
	return apart(found)
}

// apart sorts spans and joins those that overlap.
func apart(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
			continue
		}
		out = append(out, s)
	}
	return out
}
