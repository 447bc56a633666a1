// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// Palette colours text that an EscapingWriter brings to a terminal; the zero Palette does
// not.
type Palette struct {
	On    bool
	Width int  // of the terminal; 0 for none
	Wide  bool // tables have all of their columns, whatever the width
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint colours a text that is one line.
func (p Palette) paint(code, text string) string {
	text = strings.ReplaceAll(text, "\n", `\n`)
	if !p.On || text == "" || code == "" {
		return text
	}
	return controlSequence(code+"m") + text + controlSequence("0m")
}

var (
	stateColors    = map[plan.State]string{plan.Done: green, plan.Blocked: red}
	severityColors = map[transform.Severity]string{transform.Error: red, transform.Warning: yellow}
)

func (p Palette) state(s Stage) string {
	return p.paint(cmp.Or(stateColors[s.State], yellow), s.Word())
}

func (p Palette) severity(s transform.Severity) string {
	return p.paint(cmp.Or(severityColors[s], cyan), string(s))
}

// The width of text where there is no terminal, and the most on one: longer lines are hard to
// read. A terminal may be narrower, down to the least.
const (
	usualColumns = 100
	mostColumns  = 120
	leastColumns = 40
)

// Wrap breaks text into lines that fit the terminal. A word is never broken.
func (p Palette) Wrap(text, indent string) string {
	columns := usualColumns
	if p.Width > 0 {
		columns = max(leastColumns, min(p.Width, mostColumns))
	}
	var lines []string
	line := indent
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(line)+utf8.RuneCountInString(word) >= columns && strings.TrimSpace(line) != "" {
			lines, line = append(lines, strings.TrimRight(line, " ")), indent
		}
		line += word + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}
