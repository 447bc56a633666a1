// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

// Statuses are clusters in one line each, for programs.
type Statuses struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Clusters   []Status `json:"clusters"`
	// Migrations are the LeaderMigrations of a Rancher.
	Migrations []MigrationStatus `json:"leaderMigrations,omitempty"`
}

// Status is one cluster in a few words.
type Status struct {
	Name     string `json:"name"`
	Distro   string `json:"distro"`
	Version  string `json:"version"`
	Provider string `json:"provider"`
	// Situation is what the cluster has of cloud controllers; "" where it cannot be determined.
	Situation transform.Progress `json:"situation,omitempty"`
	Reached   string             `json:"reached"`
	Errors    int                `json:"errors"`
	Warnings  int                `json:"warnings"`
	Problem   string             `json:"problem,omitempty"`
	// Migrations are the names of the LeaderMigrations that have the cluster.
	Migrations []string `json:"leaderMigrations,omitempty"`
}

// WriteStatuses writes clusters for people.
func WriteStatuses(w io.Writer, list []Status) {
	t := newStatusTable(w, list)
	for _, s := range list {
		t.widen(s.cells(t.migrations))
	}
	t.begin()
	for _, s := range list {
		t.Add(s)
	}
}

// migrationColumn is before the findings, which may be a long text.
const migrationColumn = 6

func statusHeader(migrations bool) []string {
	header := []string{"CLUSTER", "DISTRO", "VERSION", "PROVIDER", "SITUATION", "REACHED", "FINDINGS"}
	if migrations {
		return slices.Insert(header, migrationColumn, "LEADERMIGRATION")
	}
	return header
}

// cells is the row of a cluster.
func (s Status) cells(migrations bool) []string {
	row := []string{words(s.Name), otherwise(s.Distro, "-"), otherwise(s.Version, "-")}
	if s.Problem != "" {
		row = append(row, "-", "-", "-", words(s.Problem))
	} else {
		row = append(row, otherwise(s.Provider, "unknown"), otherwise(string(s.Situation), "-"), otherwise(s.Reached, "-"), fmt.Sprintf("errors: %d, warnings: %d", s.Errors, s.Warnings))
	}
	if migrations {
		return slices.Insert(row, migrationColumn, s.inMigrations())
	}
	return row
}

func (s Status) inMigrations() string {
	return otherwise(words(strings.Join(s.Migrations, ", ")), "-")
}

// words returns a text on one line.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }
