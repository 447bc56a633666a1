// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
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
	columns
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
	t.columns = newColumns(statusHeader(t.migrations), 3)
	return t
}

// begin writes the titles.
func (t *StatusTable) begin() { fmt.Fprintln(t.w, t.line(statusHeader(t.migrations))) }

// Add writes the row of a cluster.
func (t *StatusTable) Add(s Status) { fmt.Fprintln(t.w, t.line(s.cells(t.migrations))) }
