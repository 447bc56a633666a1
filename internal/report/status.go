// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

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
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	column, in := "", func(Status) string { return "" }
	if slices.ContainsFunc(list, func(s Status) bool { return len(s.Migrations) > 0 }) {
		column, in = "LEADERMIGRATION\t", func(s Status) string { return otherwise(words(strings.Join(s.Migrations, ", ")), "-") + "\t" }
	}
	fmt.Fprintln(t, "CLUSTER\tDISTRO\tVERSION\tPROVIDER\tSITUATION\tREACHED\t"+column+"FINDINGS")
	for _, s := range list {
		if s.Problem != "" {
			fmt.Fprintf(t, "%s\t%s\t%s\t-\t-\t-\t%s%s\n", words(s.Name), otherwise(s.Distro, "-"), otherwise(s.Version, "-"), in(s), words(s.Problem))
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%serrors: %d, warnings: %d\n", words(s.Name), otherwise(s.Distro, "-"), otherwise(s.Version, "-"), otherwise(s.Provider, "unknown"), otherwise(string(s.Situation), "-"), otherwise(s.Reached, "-"), in(s), s.Errors, s.Warnings)
	}
	t.Flush()
}

// words returns a text on one line.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }
