// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

func TestClustersWithTheSameOutcomeHaveOneLine(t *testing.T) {
	const a, b = "grant-migration-lease written", "nothing to do"
	for name, c := range map[string]struct {
		verbose bool
		lines   []Outcome
		files   int
		want    string
	}{
		"none":                       {},
		"one":                        {lines: []Outcome{{Name: "a.yaml: reed: ", What: a}}, files: 1, want: "a.yaml: reed: " + a + "\n"},
		"several":                    {lines: []Outcome{{Name: "a.yaml: reed: ", What: a}, {Name: "a.yaml: fen: ", What: a}, {Name: "b.yaml: heath: ", What: a}}, files: 2, want: "3 clusters: " + a + "\nfiles written: 2\n"},
		"the only one of an outcome": {lines: []Outcome{{Name: "a.yaml: reed: ", What: a}, {Name: "b.yaml: fen: ", What: b}, {Name: "c.yaml: heath: ", What: a}}, files: 2, want: "2 clusters: " + a + "\nb.yaml: fen: " + b + "\nfiles written: 2\n"},
		"nothing is written":         {lines: []Outcome{{Name: "a.yaml: reed: ", What: b}, {Name: "b.yaml: fen: ", What: b}}, want: "2 clusters: " + b + "\n"},
		"nothing to say":             {lines: []Outcome{{}, {}}},
		"each by itself":             {verbose: true, lines: []Outcome{{Name: "a.yaml: reed: ", What: a}, {Name: "b.yaml: fen: ", What: a}}, files: 2, want: "a.yaml: reed: " + a + "\nb.yaml: fen: " + a + "\nfiles written: 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			all := NewCollector(&Output{Err: &out}, nil)
			all.Verbose = c.verbose
			for _, l := range c.lines {
				all.Became(l)
			}
			for range c.files {
				all.End(Ends{Files: []string{"written"}})
			}
			all.WriteOutcomes("clusters")
			if out.String() != c.want {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
		})
	}
}
