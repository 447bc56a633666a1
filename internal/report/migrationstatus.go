// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"text/tabwriter"

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
func WriteMigrations(w io.Writer, list []MigrationStatus) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "LEADERMIGRATION\tCONDITION\tREASON\tWAVE\tTOTAL\tWAITING\tRUNNING\tDONE\tFAILED\tSKIPPED")
	for _, m := range list {
		n := m.Counts
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", words(m.Name), otherwise(m.Condition, "-"), otherwise(m.Reason, "-"), otherwise(m.Wave, "-"), n.Total, n.Waiting, n.Running, n.Done, n.Failed, n.Skipped)
	}
	t.Flush()
}
