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
	"github.com/rke-lm/rke-lm/transform/stages"
)

// StatusTable writes clusters for people one by one, as soon as each is known. Its columns are
// as wide as the names of the clusters, which are known first, and the usual values; a longer
// value moves the rest of its row only.
type StatusTable struct {
	w          io.Writer
	migrations bool
	widths     []int
}

// NewStatusTable begins the table of clusters of which the names and the LeaderMigrations are
// known.
func NewStatusTable(w io.Writer, known []Status) *StatusTable {
	t := newStatusTable(w, known)
	for _, s := range known {
		t.widen(s.cells(t.migrations)[:1])
		if t.migrations {
			t.widths[migrationColumn] = max(t.widths[migrationColumn], utf8.RuneCountInString(s.inMigrations()))
		}
	}
	for _, stage := range stages.Names() {
		usual := Status{Version: "v1.26.15-rancher1-1", Provider: "external", Situation: transform.ProgressBroken("v1.27.0"), Reached: stage}
		t.widen(usual.cells(t.migrations)[:migrationColumn])
	}
	t.begin()
	return t
}

// newStatusTable has columns that are as wide as their titles.
func newStatusTable(w io.Writer, known []Status) *StatusTable {
	t := &StatusTable{w: w, migrations: slices.ContainsFunc(known, func(s Status) bool { return len(s.Migrations) > 0 })}
	header := statusHeader(t.migrations)
	t.widths = make([]int, len(header))
	t.widen(header)
	return t
}

// begin writes the titles.
func (t *StatusTable) begin() { t.row(statusHeader(t.migrations)) }

func (t *StatusTable) widen(row []string) {
	for i, cell := range row {
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
	}
}

// Add writes the row of a cluster.
func (t *StatusTable) Add(s Status) { t.row(s.cells(t.migrations)) }

func (t *StatusTable) row(cells []string) {
	var line strings.Builder
	for i, cell := range cells[:len(cells)-1] {
		fmt.Fprintf(&line, "%-*s", t.widths[i]+between, cell)
		if utf8.RuneCountInString(cell) >= t.widths[i]+between {
			line.WriteString(" ")
		}
	}
	fmt.Fprintln(t.w, line.String()+cells[len(cells)-1])
}
