// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package config

import "strings"

// nearest returns the name that a word was most likely meant to be: the one with
// the fewest letters to change, if those are few for its length.
func nearest(word string, names []string) (string, bool) {
	word = strings.ReplaceAll(strings.ToLower(word), "_", "-")
	best, fewest := "", len(word)/3+2
	for _, name := range names {
		if d := distance(word, strings.ReplaceAll(name, "-", ""), name); d < fewest {
			best, fewest = name, d
		}
	}
	return best, best != ""
}

// distance is the smaller distance of a word to two spellings of a name.
func distance(word, joined, name string) int { return min(edits(word, joined), edits(word, name)) }

// edits counts the letters to insert, remove or replace (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
