// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/redact"
)

// fewLines is how much of a log an error has.
const fewLines = 15

// LogTail returns the end of what the program has said, for errors: its log goes with the test.
func (p *Process) LogTail() string { return strings.Join(p.Lines(fewLines, nil), "\n") }

// Lines returns the last lines of the log that are chosen, so many at most; nil chooses all. A program may
// say anything, so what may be a secret is taken out.
func (p *Process) Lines(most int, chosen func(string) bool) []string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []string{err.Error()}
	}
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	if chosen != nil {
		lines = slices.DeleteFunc(lines, func(line string) bool { return !chosen(line) })
	}
	lines = lines[max(0, len(lines)-most):]
	for i := range lines {
		lines[i] = redact.Text(lines[i])
	}
	return lines
}
