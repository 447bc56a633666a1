// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/transform"
)

// Summary is many plans, a line for each, with totals and what to do next.
type Summary struct {
	Rows    []SummaryRow
	Refused int    // documents that have no plan
	Command string // what to type next; "" for nothing
	Runbook string // of that cluster; "" for none
}

// SummaryRow is one plan.
type SummaryRow struct {
	Cluster string
	transform.Outlook
}

// NewSummaryRow is the line of a plan.
func NewSummaryRow(p Plan, o transform.Outlook) SummaryRow {
	id := transform.Identity{Namespace: p.Namespace, Name: p.Name}
	if p.Name == "" {
		return SummaryRow{Cluster: p.Source.File, Outlook: o}
	}
	return SummaryRow{Cluster: id.Title(), Outlook: o}
}

// cells are those of the table.
func (r SummaryRow) cells() []string {
	return []string{words(r.Cluster), otherwise(r.Reached, "-"), otherwise(nextStage(r.Next, r.Manual), "done"), otherwise(list(r.Blocked), "-"), otherwise(restarted(r.Restarts), "-")}
}

// nextStage names the stage that is next.
func nextStage(name string, manual bool) string {
	if manual {
		return name + " (manual)"
	}
	return name
}

// restarted names the machine classes that restart, in their order.
func restarted(restarts []transform.Restart) string {
	var classes []string
	for _, r := range restarts {
		for _, c := range r.Classes {
			if !slices.Contains(classes, c) {
				classes = append(classes, c)
			}
		}
	}
	return strings.Join(classes, ", ")
}

// Write writes the table, the totals and the next command.
func (s Summary) Write(w io.Writer, p Palette) {
	rows := [][]string{{"CLUSTER", "REACHED", "NEXT", "BLOCKED BY", "RESTARTS"}}
	for _, r := range s.Rows {
		rows = append(rows, r.cells())
	}
	table := fit(rows, p.Width)
	for i, row := range rows {
		for column, width := range table.widths {
			row[column] = cut(row[column], width)
		}
		line := table.line(row)
		switch {
		case i == 0:
			line = p.paint(bold, line)
		case s.Rows[i-1].State() == transform.Blocked:
			line = p.paint(red, line)
		case s.Rows[i-1].Counts.Count() == transform.CountDone:
			line = p.paint(green, line)
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, s.totals())
	s.WriteNext(w, p)
}

// WriteNext writes the next command, and where the steps around it are.
func (s Summary) WriteNext(w io.Writer, p Palette) {
	if s.Command != "" {
		fmt.Fprintf(w, "next: %s\n", p.paint(bold, s.Command))
	}
	if s.Runbook != "" {
		fmt.Fprintf(w, "runbook: %s\n", s.Runbook)
	}
}

// totals counts the clusters by how far they are.
func (s Summary) totals() string {
	of, blocked := map[transform.Count]int{}, 0
	for _, r := range s.Rows {
		of[r.Counts.Count()]++
		blocked += min(len(r.Blocked), 1)
	}
	text := fmt.Sprintf("clusters: %d; to do: %d", len(s.Rows), of[transform.CountToDo])
	if blocked > 0 {
		text += fmt.Sprintf(" (blocked: %d)", blocked)
	}
	text += fmt.Sprintf(", manual: %d, done: %d", of[transform.CountManual], of[transform.CountDone])
	if s.Refused > 0 {
		text += fmt.Sprintf("; refused: %d", s.Refused)
	}
	return text
}

// fit returns the columns. On a terminal the last one goes if the table is
// too wide, and then the widest ones get narrower.
func fit(rows [][]string, limit int) columns {
	c := newColumns(rows[0], 2)
	for _, row := range rows[1:] {
		c.widen(row)
	}
	total := func() (n int) {
		for _, w := range c.widths {
			n += w + c.between
		}
		return n - c.between
	}
	if limit <= 0 || total() <= limit {
		return c
	}
	c.widths = c.widths[:len(c.widths)-1]
	for total() > limit {
		widest := slices.Index(c.widths, slices.Max(c.widths))
		if c.widths[widest] <= 8 {
			break
		}
		c.widths[widest]--
	}
	return c
}

// cut shortens a text to a number of columns.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
