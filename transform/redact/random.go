// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "bytes"

// passwords returns the words of a text that are made as people make passwords.
func passwords(text []byte) (found []span) {
	const marks = "!#$^&~"
	for from := 0; from < len(text); {
		i := bytes.IndexAny(text[from:], marks)
		if i < 0 {
			break
		}
		start, end := from+i, from+i
		for start > from && bytes.IndexByte([]byte(" \t\r\n\"'`"), text[start-1]) < 0 && end-start < 128 {
			start--
		}
		for end < len(text) && bytes.IndexByte([]byte(" \t\r\n\"'`"), text[end]) < 0 && end-start < 256 {
			end++
		}
		if passwordLike(string(text[start:end])) {
			found = append(found, span{start, end})
		}
		from = end + 1
	}
	return found
}

// runs are made of the characters of base64, in both of its alphabets.
var runs = charsetOf("+/_-")

// randoms returns the tokens of a text that are random. Names of AWS have random
// parts, and are none.
func randoms(text []byte) (found []span) {
	const least = 20
	for i := 0; i < len(text); i++ {
		if !runs[text[i]] {
			continue
		}
		if text[i] == 'a' && bytes.HasPrefix(text[i:], []byte("arn:aws")) {
			i = until(text, i, " \t\r\n\"'\\,")
			continue
		}
		end := i
		for end < len(text) && runs[text[end]] {
			end++
		}
		start := i
		if i > 0 && text[i-1] == '\\' { // the letter of an escape
			start++
		}
		for ; end < len(text) && text[end] == '='; end++ {
		}
		if end-start >= least {
			found = append(found, randomIn(text, start, end)...)
		}
		i = end - 1
	}
	return found
}

// randomIn looks at a run as a whole, and at its pieces between the characters that
// join words.
func randomIn(text []byte, start, end int) (found []span) {
	const whole = 40
	if run := text[start:end]; end-start >= whole && bothCases(run) && random(run) && !slug(run) {
		return []span{{start, end}}
	}
	for i := start; i < end; {
		at := i
		for at < end && bytes.IndexByte([]byte("/_-="), text[at]) < 0 {
			at++
		}
		if random(text[i:at]) {
			found = append(found, span{i, at})
		}
		i = at + 1
	}
	return found
}

// slug reports whether a run is made of short words that hyphens or slashes join.
func slug(run []byte) bool {
	joints := bytes.Count(run, []byte("-")) + bytes.Count(run, []byte("/")) + bytes.Count(run, []byte("_"))
	return 8*joints > len(run)
}
