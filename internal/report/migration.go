// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// Migration is what came of a migration of many clusters, for programs.
type Migration struct {
	TypeMeta
	Clusters   []MigratedCluster `json:"clusters"`
	Done       int               `json:"done"`
	Failed     int               `json:"failed"`
	NotStarted int               `json:"notStarted"`
	// Stopped says why clusters did not start.
	Stopped string `json:"stopped,omitempty"`
	// Continue is the command that continues.
	Continue string `json:"continue,omitempty"`
}

// MigratedCluster is one of them.
type MigratedCluster struct {
	migrate.Member
	Error    string           `json:"error,omitempty"`
	ExitCode int              `json:"exitCode"`
	End      *migrate.Outcome `json:"end,omitempty"`
}

// NewMigration describes what came of a migration, without its secrets.
func NewMigration(s migrate.Summary, again string) Migration {
	m := Migration{TypeMeta: Type("Migration"), Clusters: []MigratedCluster{}}
	for _, one := range s.Members {
		m.Clusters = append(m.Clusters, migrated(one))
		switch one.State {
		case transition.Done:
			m.Done++
		case transition.Failed:
			m.Failed++
		default:
			m.NotStarted++
		}
	}
	if m.Failed+m.NotStarted > 0 {
		m.Continue = again
	}
	switch {
	case m.NotStarted == 0:
	case s.Err != nil:
		m.Stopped = s.Err.Error()
	case s.Stopped:
		m.Stopped = "more clusters failed than are tolerated"
	}
	return m
}

func migrated(one migrate.Member) MigratedCluster {
	c := MigratedCluster{Member: one, ExitCode: transform.ExitCodeOf(one.Err), End: one.Outcome}
	c.Findings = Findings(one.Findings)
	if one.Err != nil {
		c.Error = one.Err.Error()
	}
	return c
}

// WriteMigration writes it for people: the clusters, what stopped some of them, and how to
// continue.
func WriteMigration(w io.Writer, p Palette, m Migration) {
	fmt.Fprintln(w)
	rows := [][]string{{"CLUSTER", "WAVE", "STATE", "STAGE", "SINCE", "GAP AT THE SWITCH", "FINDINGS"}}
	for _, c := range m.Clusters {
		rules := lists.Map(c.Findings, func(f transform.Finding) string { return f.Rule })
		rows = append(rows, lists.Map([]string{c.Cluster, c.Wave, string(c.State), c.Stage, since(c.Since), gap(c.Switch), list(rules)}, words))
	}
	writeTable(w, p, false, rows, uncolored)
	for _, c := range m.Clusters {
		if c.Error != "" {
			fmt.Fprintf(w, "\n%s\n", p.paint(red, "failed: ")+c.Error)
		}
	}
	line := fmt.Sprintf("\ndone: %d, failed: %d, not started: %d", m.Done, m.Failed, m.NotStarted)
	if m.Stopped != "" {
		line += " (" + words(m.Stopped) + ")"
	}
	fmt.Fprintln(w, line)
	if m.Continue != "" {
		fmt.Fprintln(w, "to continue: "+m.Continue)
	}
}

func since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func gap(o *migrate.Owned) string {
	if o == nil {
		return ""
	}
	text := fmt.Sprintf("%g s", o.None)
	if o.Unknown > 0 {
		text += fmt.Sprintf(" (unknown: %g s)", o.Unknown)
	}
	if o.Two > 0 {
		text += fmt.Sprintf(", two managers: %g s", o.Two)
	}
	return text
}

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
		counts := []int{m.Counts.Total, m.Counts.Waiting, m.Counts.Running, m.Counts.Done, m.Counts.Failed, m.Counts.Skipped}
		rows = append(rows, append(lists.Map([]string{m.Name, m.Condition, m.Reason, m.Wave}, words), lists.Map(counts, strconv.Itoa)...))
	}
	writeTable(w, p, false, rows, uncolored)
}
