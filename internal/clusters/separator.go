// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"io"
	"regexp"
)

// Separator keeps files apart that are written one after the other.
type Separator struct {
	dst   io.Writer
	last  byte // of what was written; 0 for nothing yet
	first bool // what comes is the first of a file
}

// Next begins a file.
func (s *Separator) Next(dst io.Writer) { s.dst, s.first = dst, true }

func (s *Separator) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.first && s.last != 0 {
		if _, err := io.WriteString(s.dst, separation(s.last, p)); err != nil {
			return 0, err
		}
	}
	s.first, s.last = false, p[len(p)-1]
	return s.dst.Write(p)
}

// documentStart is a line that starts a document.
var documentStart = regexp.MustCompile(`^---([ \t\r\n]|$)`)

// separation returns what is written between two files.
func separation(last byte, next []byte) string {
	text := ""
	if last != '\n' {
		text = "\n"
	}
	switch {
	case documentStart.Match(next):
		return text
	case next[0] == '%': // a directive precedes the start of its document
		return text + "...\n"
	}
	return text + "---\n"
}
