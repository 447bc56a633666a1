// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const noFinalNewline = "\\ No newline at end of file\n"

// diffLength returns how many of these lines, which end in newlines, are the diff that they begin with.
func diffLength(lines []string) int {
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") {
		return 0
	}
	n := 2
	for n < len(lines) {
		_, from, to, is := hunkOf(lines[n])
		if !is {
			break
		}
		for n++; n < len(lines) && (from > 0 || to > 0 || lines[n] == noFinalNewline); n++ {
			switch lines[n][0] {
			case ' ':
				from, to = from-1, to-1
			case '-':
				from--
			case '+':
				to--
			}
		}
	}
	return n
}

// hunkOf returns from which line on a hunk takes how many lines, and how many it makes of them.
// The heading after that has no effect.
func hunkOf(line string) (start, from, to int, is bool) {
	var target int
	n, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &start, &from, &target, &to)
	return start, from, to, err == nil && n == 4
}

// heading is what a hunk says of its place beyond its lines.
var heading = regexp.MustCompile(`(?m)^(@@ -\d+,\d+ \+\d+,\d+ @@).*$`)

// headless is a diff without headings.
func headless(diff string) string { return heading.ReplaceAllString(diff, "$1") }

var errDiff = errors.New("the diff does not apply")

// applied returns what a diff makes of a text.
func applied(old, diff string) (string, error) {
	if diff == "" {
		return old, nil
	}
	have, lines := strings.SplitAfter(old, "\n"), strings.SplitAfter(diff, "\n")
	if n := diffLength(lines); n == 0 || strings.Join(lines[n:], "") != "" {
		return "", errDiff
	}
	var b strings.Builder
	at := 0 // in have
	for i := 2; i < len(lines); i++ {
		line := lines[i]
		if start, from, _, is := hunkOf(line); is {
			if from > 0 {
				start-- // an empty range is named by the line before it
			}
			if start < at || start > len(have) {
				return "", errDiff
			}
			b.WriteString(strings.Join(have[at:start], ""))
			at = start
			continue
		}
		if line == "" || line == noFinalNewline {
			continue
		}
		text := line[1:]
		if i+1 < len(lines) && lines[i+1] == noFinalNewline {
			text = strings.TrimSuffix(text, "\n")
		}
		if line[0] != '+' {
			if at >= len(have) || have[at] != text {
				return "", errDiff
			}
			at++
		}
		if line[0] != '-' {
			b.WriteString(text)
		}
	}
	b.WriteString(strings.Join(have[at:], ""))
	return b.String(), nil
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}
