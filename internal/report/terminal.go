// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// When an output has colors.
const (
	ColorAuto   = "auto" // on a terminal
	ColorAlways = "always"
	ColorNever  = "never"
)

// NewPalette is that of an output: its colors and its width.
func NewPalette(w io.Writer, color string, wide bool) Palette {
	return Palette{On: colored(color, IsTerminal(w), os.Getenv), Width: Width(w), Wide: wide}
}

// colored decides on colors: a flag wins over the environment (no-color.org,
// bixense.com/clicolors).
func colored(color string, terminal bool, getenv func(string) string) bool {
	force := getenv("CLICOLOR_FORCE")
	switch {
	case color != ColorAuto:
		return color == ColorAlways
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal
}

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

// writeTable writes rows of cells of one line each, of which the first row has the titles, in the colors of the others.
// On a terminal that is too narrow the widest columns get narrower; with whole the last one does not.
func writeTable(w io.Writer, p Palette, whole bool, rows [][]string, color func(i int) string) {
	widths := widthsOf(rows, whole)
	if !p.fits(rows, whole) {
		fit(widths, p.Width)
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = cmp.Or(cell, "-")
			if !whole || i < len(row)-1 {
				row[i] = cut(row[i], widths[i], i == 0)
			}
		}
	}
	for i, line := range aligned(rows) {
		of := bold
		if i > 0 {
			of = color(i - 1)
		}
		fmt.Fprintln(w, p.paint(of, strings.TrimRight(line, " ")))
	}
}

func uncolored(int) string { return "" }

// aligned returns rows of cells as lines.
func aligned(rows [][]string) []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, between, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// fits reports whether rows of cells fit the terminal.
func (p Palette) fits(rows [][]string, whole bool) bool {
	return p.Width == 0 || p.Wide || sum(widthsOf(rows, whole)) <= p.Width
}

// between is how many spaces are between two columns.
const between = 2

// Widths below which columns do not get while others are wider: least is the last one of any but the first.
const (
	least = 8
	short = 16 // of stages, which differ in their beginnings
	named = 24 // of the first column
)

// widthsOf are those of the columns; with whole that of the last one does not depend on its cells.
func widthsOf(rows [][]string, whole bool) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	if whole {
		widths[len(widths)-1] = least
	}
	return widths
}

// fit makes the widest columns narrower until a row has no more than limit. The first one names the row, and stays as
// long as others are wide.
func fit(widths []int, limit int) {
	for total := sum(widths); total > limit; total-- {
		widest := 1 + slices.Index(widths[1:], slices.Max(widths[1:]))
		switch {
		case widths[widest] > short:
		case widths[0] > named:
			widest = 0
		case widths[widest] <= least:
			return
		}
		widths[widest]--
	}
}

// sum is how wide a row is.
func sum(widths []int) int {
	total := -between
	for _, w := range widths {
		total += w + between
	}
	return total
}

// cut shortens a text to a number of columns: a name in the middle, as many end in what they differ in, and what has
// its state in parentheses before it.
func cut(text string, width int, name bool) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	end := 0
	if i := strings.LastIndex(text, "("); name {
		end = (width - 1) / 2
	} else if i > 0 && strings.HasSuffix(text, ")") && len(text)-i < width-1 {
		end = len(text) - i
	}
	return string(runes[:width-1-end]) + "…" + string(runes[len(runes)-end:])
}
