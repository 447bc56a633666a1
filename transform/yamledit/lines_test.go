// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestColumnsAreFoundOnLinesOfAnyCharacters(t *testing.T) {
	alphabet := []string{"a", "b: ", "é", "日", "😀", "\n", "\r\n", "\u2028", " "}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var b strings.Builder
		if r.IntN(4) == 0 {
			b.WriteString(bom)
		}
		for range r.IntN(5000) {
			i := r.IntN(len(alphabet))
			if strings.ContainsAny(alphabet[i], "\n\u2028") && r.IntN(100) > 0 {
				continue // most lines are longer than a stride
			}
			b.WriteString(alphabet[i])
		}
		text := b.String()
		ix := indexLines([]byte(text))
		for line := range ix.count() {
			at := ix.firstByte(line)
			for column := 1; at < ix.end(line); column++ {
				got := ix.offset(line+1, column)
				assert.Mustf(t, got == at, "line %d, column %d: %d instead of %d", line+1, column, got, at)
				_, n := utf8.DecodeRuneInString(text[at:])
				at += n
			}
		}
	}
}

// A column is found without a walk over its line.
func TestAColumnOfALongLineIsFoundAtOnce(t *testing.T) {
	ascii, wide := indexLines([]byte(strings.Repeat("a", 1<<16))), indexLines([]byte(strings.Repeat("é", 1<<16)))
	assert.Equal(t, len(ascii.wide), 0, "a line of ASCII needs no marks")
	assert.Equal(t, len(wide.wide[0]), 1+1<<16/stride, "marks")
}

func TestLinesOfPlainTextAreThoseOfAnyText(t *testing.T) {
	for _, text := range []string{"", "\n", "a", "a\n", "\n\na: b\n\n", "a\nb"} {
		const other = "\u2028" // which no plain text has
		plain, any := indexLines([]byte(text)), indexLines([]byte(text+other))
		assert.EqualSlices(t, plain.starts, any.starts[:len(any.starts)-1], text)
	}
}

func TestALineBelongsToTheInnermostNode(t *testing.T) {
	const text = "a: 1\nb:\n  c:\n    - d: 2\n      e: |\n        text: 3\n        more\n  # of f\n  f: {g: 4, h: [5, 6]}\n\ni: &x\n  j: 7\nk: *x\n"
	d := assert.Value(Parse(Chunk{File: "c.yaml", Line: 10, Bytes: []byte(text)}))(t)
	for line, want := range map[int]string{
		1: "", 10: "", 11: "a", 12: "b", 13: "b.c", 14: "b.c[0].d", 15: "b.c[0].e", 16: "b.c[0].e", 17: "b.c[0].e", 18: "b.c[0].e", 19: "b.f",
		21: "i", 22: "i.j", 23: "k", 99: "k",
	} {
		assert.Equal(t, d.At(line).Path(), want, "line", line)
	}
	one, err := Parse(Chunk{File: "c.json", Bytes: []byte(`{"a": {"b": 1, "c": 2}}`)})
	assert.Truef(t, err == nil && one.At(1).Path() == "a", "%v: two entries on a line", err)
}
