// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// firstLook is how much text is searched for the end of a document at first, or twice the
	// document before it, up to mostLook: the documents of a stream are alike.
	firstLook = 1 << 10
	mostLook  = 64 << 10
	// beyond is how far past the largest document its end may show.
	beyond = 64
)

// boundary returns the length of the document that the window starts with, and
// reads as much as it takes to know. A search that fails is repeated in twice
// the text: searching far more than a document for its end, or again for each
// block read, would cost time quadratic in the size of the stream.
func (sc *scanner) boundary() (int, error) {
	largest := sc.max + beyond
	for size := min(max(sc.look, min(2*sc.last, mostLook)), largest); ; size = min(2*size, largest) {
		// One byte more shows whether the stream continues.
		if err := sc.text.fill(size + 1); err != nil {
			return 0, err
		}
		held := sc.text.held
		if len(held) <= size {
			return yamledit.Boundary(held, true), nil
		}
		if n := yamledit.Boundary(settled(held[:size]), false); n >= 0 {
			return n, nil
		}
		if size < largest {
			continue
		}
		if n := sc.passOver(); n >= 0 {
			return n, nil
		}
	}
}

// settled leaves out the end of text that may come to mean something else when
// more is read: dots may become an end marker, and half a rune a line break
// (NEL, LS or PS). Both would be taken for content meanwhile.
func settled(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] < 0x80 && text[n-1] != '.' {
		return text // nearly always
	}
	text = bytes.TrimRight(text, ".")
	for _, half := range []string{"\xe2\x80", "\xe2", "\xc2"} {
		text = bytes.TrimSuffix(text, []byte(half))
	}
	return text
}
