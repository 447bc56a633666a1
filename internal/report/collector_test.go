// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
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
			all := NewCollector(&Output{Err: &out}, Results{})
			all.Verbose = c.verbose
			for _, l := range c.lines {
				all.Became(l)
			}
			for range c.files {
				all.End(Ends{Files: []string{"written"}})
			}
			all.WriteOutcomes("clusters")
			assert.Equal(t, out.String(), c.want)
		})
	}
}

func TestLiveClustersAndManualStagesContinueOneAtATime(t *testing.T) {
	edit, manual := Status{Next: "switch-to-external"}, Status{Next: "install-ccm"}
	manual.Summary.Manual = true
	at := func(s Status, file, live string) Status {
		s.File, s.Live = file, live
		return s
	}
	for name, c := range map[string]struct {
		rows []Status
		want string
	}{
		"files":                      {[]Status{at(edit, "a.yaml", ""), at(edit, "b.yaml", "")}, "rke-lm apply --next --ccm-values=v.yaml clusters/"},
		"one file":                   {[]Status{at(edit, "a.yaml", "")}, "rke-lm apply --next --ccm-values=v.yaml a.yaml"},
		"a manual stage among them":  {[]Status{at(edit, "a.yaml", ""), at(manual, "m.yaml", ""), at(edit, "b.yaml", "")}, "rke-lm apply --next --ccm-values=v.yaml a.yaml"},
		"a manual stage comes first": {[]Status{at(manual, "m.yaml", ""), at(edit, "b.yaml", "")}, "rke-lm plan --stage install-ccm --ccm-values=v.yaml m.yaml"},
		"live, without the values":   {[]Status{at(edit, "", "reed"), at(edit, "", "fen")}, "rke-lm apply --next --cluster reed"},
	} {
		all := NewCollector(&Output{}, Results{})
		all.Paths, all.Flags = []string{"clusters/"}, []string{"--ccm-values=v.yaml"}
		for _, row := range c.rows {
			all.Row(row)
		}
		assert.Equal(t, all.Command, c.want, name)
	}
}
