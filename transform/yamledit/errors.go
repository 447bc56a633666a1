// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import "strconv"

// Error says where a document cannot be read or safely edited, what is wrong
// and what to do. It never quotes a value of the document.
type Error struct {
	File string // as given to Parse
	Line int    // 1-based line in the file; 0 when no line is the cause
	What string
	Do   string

	cause error // ErrTooDeep, or nil
}

func (e *Error) Unwrap() error { return e.cause }

func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	s += ": " + e.What
	if e.Do != "" {
		s += "; " + e.Do
	}
	return s
}
