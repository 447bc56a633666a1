// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"unicode/utf8"
)

// columns are those of a table for people.
type columns struct {
	widths  []int
	between int // spaces
}

// newColumns are as wide as their titles.
func newColumns(titles []string, between int) columns {
	c := columns{make([]int, len(titles)), between}
	c.widen(titles)
	return c
}

// widen makes room for the first cells of a row.
func (c columns) widen(row []string) {
	for i, cell := range row {
		c.widths[i] = max(c.widths[i], utf8.RuneCountInString(cell))
	}
}

// line returns a row. A cell that is too long moves the rest of its row only.
func (c columns) line(row []string) string {
	var b strings.Builder
	last := len(c.widths) - 1
	for i, cell := range row[:last] {
		b.WriteString(cell + strings.Repeat(" ", max(c.widths[i]+c.between-utf8.RuneCountInString(cell), 1)))
	}
	return strings.TrimRight(b.String()+row[last], " ")
}
