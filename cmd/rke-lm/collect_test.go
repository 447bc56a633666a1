// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestClustersWithTheSameOutcomeHaveOneLine(t *testing.T) {
	const a, b = "grant-migration-lease written", "nothing to do"
	for name, c := range map[string]struct {
		verbose bool
		lines   []line
		files   int
		want    string
	}{
		"none":                       {},
		"one":                        {lines: []line{{"a.yaml: reed: ", a}}, files: 1, want: "a.yaml: reed: " + a + "\n"},
		"several":                    {lines: []line{{"a.yaml: reed: ", a}, {"a.yaml: fen: ", a}, {"b.yaml: heath: ", a}}, files: 2, want: "3 clusters: " + a + "\nfiles written: 2\n"},
		"the only one of an outcome": {lines: []line{{"a.yaml: reed: ", a}, {"b.yaml: fen: ", b}, {"c.yaml: heath: ", a}}, files: 2, want: "2 clusters: " + a + "\nb.yaml: fen: " + b + "\nfiles written: 2\n"},
		"nothing is written":         {lines: []line{{"a.yaml: reed: ", b}, {"b.yaml: fen: ", b}}, want: "2 clusters: " + b + "\n"},
		"nothing to say":             {lines: []line{{}, {}}},
		"each by itself":             {verbose: true, lines: []line{{"a.yaml: reed: ", a}, {"b.yaml: fen: ", a}}, files: 2, want: "a.yaml: reed: " + a + "\nb.yaml: fen: " + a + "\nfiles written: 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			all := (&options{verbose: c.verbose, streams: streams{err: &out}}).collect()
			for _, l := range c.lines {
				all.outcome(l)
			}
			for range c.files {
				all.files = counting(all.files, line{what: "written"})
			}
			all.writeOutcomes("clusters")
			if out.String() != c.want {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
		})
	}
}
