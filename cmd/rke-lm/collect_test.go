// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/run"
)

func TestClustersWithTheSameOutcomeHaveOneLine(t *testing.T) {
	const a, b = "grant-migration-lease written", "nothing to do"
	for name, c := range map[string]struct {
		verbose bool
		lines   []run.Outcome
		files   int
		want    string
	}{
		"none":                       {},
		"one":                        {lines: []run.Outcome{{Name: "a.yaml: reed: ", What: a}}, files: 1, want: "a.yaml: reed: " + a + "\n"},
		"several":                    {lines: []run.Outcome{{Name: "a.yaml: reed: ", What: a}, {Name: "a.yaml: fen: ", What: a}, {Name: "b.yaml: heath: ", What: a}}, files: 2, want: "3 clusters: " + a + "\nfiles written: 2\n"},
		"the only one of an outcome": {lines: []run.Outcome{{Name: "a.yaml: reed: ", What: a}, {Name: "b.yaml: fen: ", What: b}, {Name: "c.yaml: heath: ", What: a}}, files: 2, want: "2 clusters: " + a + "\nb.yaml: fen: " + b + "\nfiles written: 2\n"},
		"nothing is written":         {lines: []run.Outcome{{Name: "a.yaml: reed: ", What: b}, {Name: "b.yaml: fen: ", What: b}}, want: "2 clusters: " + b + "\n"},
		"nothing to say":             {lines: []run.Outcome{{}, {}}},
		"each by itself":             {verbose: true, lines: []run.Outcome{{Name: "a.yaml: reed: ", What: a}, {Name: "b.yaml: fen: ", What: a}}, files: 2, want: "a.yaml: reed: " + a + "\nb.yaml: fen: " + a + "\nfiles written: 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			all := (&options{verbose: c.verbose, streams: streams{err: &out}}).collect()
			for _, l := range c.lines {
				all.outcome(l)
			}
			for range c.files {
				all.files = counting(all.files, run.Outcome{What: "written"})
			}
			all.writeOutcomes("clusters")
			if out.String() != c.want {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
		})
	}
}
