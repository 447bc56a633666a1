// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"strings"
)

// passwords returns the words of a text that are made as people make passwords.
func passwords(text []byte) (found []span) {
	const marks, ends = "!#$^&~", " \t\r\n\"'`"
	for from := 0; from < len(text); {
		i := bytes.IndexAny(text[from:], marks)
		if i < 0 {
			break
		}
		i += from
		start := max(from, i-128)
		start += bytes.LastIndexAny(text[start:i], ends) + 1
		end := until(text[:min(len(text), start+256)], i, ends)
		if passwordLike(string(text[start:end])) {
			found = append(found, span{start, end})
		}
		from = end + 1
	}
	return found
}

// arn begins a name of AWS (docs.aws.amazon.com, Amazon Resource Names).
const arn = "arn:aws"

// randoms returns the tokens of a text that are random. Names of AWS have random
// parts, and are none.
func randoms(text []byte) (found []span) {
	const least = 20
	for i := 0; i < len(text); i++ {
		if !runs[text[i]] {
			continue
		}
		if text[i] == 'a' && bytes.HasPrefix(text[i:], []byte(arn)) {
			i = until(text, i, " \t\r\n\"'\\,")
			continue
		}
		start, end := i, skip(text, runs.end(text, i), "=")
		if i > 0 && text[i-1] == '\\' { // the letter of an escape
			start++
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
	run := text[start:end]
	if g := grainOf(run); len(run) >= whole && g.letters[0] > 0 && g.letters[1] > 0 && random(run) && !slug(run) { // UUIDs and names of Kubernetes have one case
		return []span{{start, end}}
	}
	for i := start; i < end; {
		at := i
		for at < end && strings.IndexByte("/_-=", text[at]) < 0 {
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
