// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
)

// MigrationStatus is one LeaderMigration in a few words.
type MigrationStatus struct {
	Name string `json:"name"`
	// Condition is the one that describes it best; "" before a controller has seen it.
	Condition string          `json:"condition"`
	Reason    string          `json:"reason"`
	Message   string          `json:"message"`
	Wave      string          `json:"wave"`
	Counts    v1alpha1.Counts `json:"counts"`
}

// WriteMigrations writes LeaderMigrations for people, below the clusters; nothing if there are none.
func WriteMigrations(w io.Writer, p Palette, list []MigrationStatus) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w)
	rows := [][]string{{"LEADERMIGRATION", "CONDITION", "REASON", "WAVE", "TOTAL", "WAITING", "RUNNING", "DONE", "FAILED", "SKIPPED"}}
	for _, m := range list {
		row := []string{words(m.Name), m.Condition, m.Reason, m.Wave}
		for _, n := range []int{m.Counts.Total, m.Counts.Waiting, m.Counts.Running, m.Counts.Done, m.Counts.Failed, m.Counts.Skipped} {
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, row)
	}
	writeTable(w, p, false, rows, nil)
}
