// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"fmt"
	"slices"
)

// Splice replaces the bytes [Start, End) of a document by New.
type Splice struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	New   string `json:"new"`
}

// Apply returns src with the splices applied. They must be in order, inside
// src, and must not overlap.
func Apply(src []byte, splices []Splice) ([]byte, error) {
	if err := checkSplices(len(src), splices); err != nil {
		return nil, err
	}
	size := len(src)
	for _, s := range splices {
		size += len(s.New) - (s.End - s.Start)
	}
	out, at := make([]byte, 0, size), 0
	for _, s := range splices {
		out = append(append(out, src[at:s.Start]...), s.New...)
		at = s.End
	}
	return append(out, src[at:]...), nil
}

// Reverse returns the splices that turn the result of Apply(src, splices) back
// into src.
func Reverse(src []byte, splices []Splice) ([]Splice, error) {
	if err := checkSplices(len(src), splices); err != nil {
		return nil, err
	}
	back, shift := make([]Splice, len(splices)), 0
	for i, s := range splices {
		start := s.Start + shift
		back[i] = Splice{Start: start, End: start + len(s.New), New: string(src[s.Start:s.End])}
		shift += len(s.New) - (s.End - s.Start)
	}
	return back, nil
}

func checkSplices(size int, splices []Splice) error {
	at := 0
	for _, s := range splices {
		if s.Start < at || s.End < s.Start || s.End > size {
			return fmt.Errorf("splices overlap or are outside of the text: [%d,%d) after %d of %d", s.Start, s.End, at, size)
		}
		at = s.End
	}
	return nil
}

// order sorts splices by place, insertions in front of what replaces the same
// place, and those of one place as they were queued. It joins neighbours, so that
// the reverse is unambiguous.
func order(splices []Splice) []Splice {
	slices.SortStableFunc(splices, func(a, b Splice) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return min(a.End-a.Start, 1) - min(b.End-b.Start, 1)
	})
	var out []Splice
	for _, s := range splices {
		if n := len(out); n > 0 && out[n-1].End == s.Start {
			out[n-1].End, out[n-1].New = s.End, out[n-1].New+s.New
			continue
		}
		out = append(out, s)
	}
	return out
}

// Origin returns where an offset of Apply(src, splices) is in src. Text that
// a splice brought in stems from the last byte in front of it.
func Origin(splices []Splice, off int) int {
	shift := 0
	for _, s := range splices {
		start := s.Start + shift
		switch end := start + len(s.New); {
		case off < start:
			return off - shift
		case off < end:
			return max(s.Start-1, 0)
		}
		shift += len(s.New) - (s.End - s.Start)
	}
	return off - shift
}
