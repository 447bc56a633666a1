// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"slices"
	"strings"
	"unicode"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Nearest returns the one known word, in kebab-case, that another one was meant to be: the
// same but for case and separators, or a letter or two away, or with one part
// more. Where two come into question, none does: what a word names may be written into a file.
func Nearest(word string, known []string) (string, bool) {
	plain := kebab(word)
	if slices.Contains(known, plain) {
		return plain, true
	}
	if near, ok := closest(plain, known); ok {
		return near, true
	}
	longer := lists.Where(known, func(k string) bool { return onePartMore(plain, k) })
	if len(longer) == 1 {
		return longer[0], true
	}
	return "", false
}

// Meant suggests the known word that another one was meant to be, or gives other advice.
func Meant(word string, known []string, otherwise string) string {
	if near, found := Nearest(word, known); found && near != word {
		return "did you mean " + near + "?"
	}
	return otherwise
}

// IsSlip reports whether a word is another one, but for case, separators and as
// many letters as a slip changes.
func IsSlip(word, of string) bool {
	word = kebab(word)
	return max(len(word)-len(of), len(of)-len(word)) <= slip(of) && Distance(word, of) <= slip(of)
}

// kebab writes a word as RKE2's keys are written; a key with + adds to a list in
// RKE2's own files.
func kebab(word string) string {
	var b strings.Builder
	for i, r := range strings.TrimSuffix(word, "+") {
		switch {
		case r == '_' || r == '.' || r == ' ':
			b.WriteByte('-')
		case unicode.IsUpper(r):
			if i > 0 && b.String()[b.Len()-1] != '-' {
				b.WriteByte('-')
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// closest returns the only known word within the distance that a slip makes.
func closest(word string, known []string) (string, bool) {
	best, near := slip(word)+1, []string(nil)
	for _, k := range known {
		if max(len(k)-len(word), len(word)-len(k)) > best {
			continue
		}
		switch d := Distance(word, k); {
		case d < best:
			best, near = d, []string{k}
		case d == best && near != nil:
			near = append(near, k)
		}
	}
	if len(near) != 1 {
		return "", false
	}
	return near[0], true
}

// slip is how far a word of a length may be from the one that was meant.
func slip(word string) int {
	switch {
	case len(word) < 5:
		return 0
	case len(word) < 10:
		return 1
	}
	return 2
}

// Distance counts the letters to add, drop, change or swap with their neighbour
// from one word to another (optimal string alignment).
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// onePartMore reports whether long is short with one more part between dashes.
func onePartMore(short, long string) bool {
	a, b := strings.Split(short, "-"), strings.Split(long, "-")
	if len(a) < 2 || len(b) != len(a)+1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return slices.Equal(a[i:], b[i+1:])
}
