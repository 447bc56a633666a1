// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// tally is what a run of lint has found.
type tally struct {
	by    *options
	shown io.Writer           // where findings go as text
	kept  []transform.Finding // for programs
	found *outputs.Results    // for the formats of other programs
	count map[transform.Severity]int
	code  int

	accepted int // errors that do not count
}

func newTally(o *options) tally {
	return tally{by: o, shown: o.out, kept: []transform.Finding{}, found: newResults("lint"), count: map[transform.Severity]int{}}
}

// add shows the findings about a cluster, or keeps them for programs.
func (t *tally) add(title, file string, line int, findings []transform.Finding) {
	for _, f := range findings {
		if f.Stops() {
			t.code = max(t.code, foundCode(f))
		}
		if f.Accepted && f.Severity == transform.Error {
			t.accepted++
			continue
		}
		t.count[f.Severity]++
	}
	switch {
	case t.by.output == "text":
		outputs.WriteFindings(t.shown, t.by.palette(t.shown), findings, "")
		return
	case t.by.reports():
		t.found.Keep(outputs.FindingSubject(title, file, line, findings))
		return
	}
	t.kept = append(t.kept, outputs.Findings(findings)...)
}

// foundCode is the code of an error that was found; that of a cluster which is not to be
// migrated is the same for every verb.
func foundCode(f transform.Finding) int {
	if f.Rule == transform.RuleNotMigratable {
		return exitcode.Refused
	}
	return exitcode.Found
}

// finish shows what was kept, or counts what was shown, and ends with the code of
// the run.
func (t *tally) finish() error {
	if t.by.reports() {
		if err := t.by.writeResults(t.found, outputs.FindingTable); err != nil {
			return err
		}
		return withCode(t.code)
	}
	if t.by.output != "text" {
		if err := t.by.dump(t.kept); err != nil {
			return err
		}
		return withCode(t.code)
	}
	fmt.Fprintf(t.by.err, "errors: %d, warnings: %d, notes: %d", t.count[transform.Error], t.count[transform.Warning], t.count[transform.Note])
	if t.accepted > 0 {
		fmt.Fprintf(t.by.err, ", accepted: %d", t.accepted)
	}
	fmt.Fprintln(t.by.err)
	return withCode(t.code)
}
