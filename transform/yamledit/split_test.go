// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// slowMarker is the definition of nextMarker: the first marker, from pos on, after a break of
// any kind or at the start of the text.
func (s *splitter) slowMarker() (int, bool) {
	for i := s.pos; i < len(s.src); i++ {
		if s.atLineStart(i) && (s.isMarker(i, "---") || s.isMarker(i, "...")) {
			return i, true
		}
	}
	return len(s.src), false
}

// checkMarker compares the two from every offset of a text from which lines are searched, which is
// none in a byte order mark.
func checkMarker(t *testing.T, text string) {
	t.Helper()
	for pos := range len(text) + 1 {
		s := splitter{src: []byte(text), pos: pos}
		afterMarker := pos >= 3 && (text[pos-3:pos] == "---" || text[pos-3:pos] == "...")
		if !s.atLineStart(pos) && !afterMarker || pos == 0 && strings.HasPrefix(text, bom) {
			continue
		}
		have, found := s.nextMarker()
		want, is := s.slowMarker()
		if have != want || found != is {
			t.Fatalf("%+q from %d: %d %t, not %d %t", text, pos, have, found, want, is)
		}
	}
}

var markerPieces = []string{
	"---", "...", "---", "--", "..", "-", ".", " ", "\t", "a", "# c", "\n", "\n", "\n", "\r", "\r\n",
	"\u0085", "\u2028", "\u2029", "\xc2", "\xe2", "\xe2\x80", "\ufeff", "é", "- a: 1.0\n", "日本",
}

func TestTheNextMarkerIsTheFirstAtTheStartOfALine(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	rounds := 200_000
	if testing.Short() {
		rounds /= 20
	}
	for range rounds {
		var b strings.Builder
		for range rnd.IntN(24) {
			b.WriteString(markerPieces[rnd.IntN(len(markerPieces))])
		}
		checkMarker(t, b.String())
	}
}

func FuzzTheNextMarkerIsTheFirstAtTheStartOfALine(f *testing.F) {
	for _, p := range markerPieces {
		f.Add("a\n" + p + "---" + p + "\n...\n" + p + "\n--- a\r...\u2028---\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			t.Skip("every offset is tried")
		}
		checkMarker(t, text)
	})
}
