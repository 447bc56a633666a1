// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/transform/stages"
)

var update = flag.Bool("update", false, "rewrite what the golden cases expect")

// ran is what one command line did.
type ran struct {
	stdout, stderr string
	code           int
}

// runHere runs a command line as a user would, without a terminal.
func runHere(t testing.TB, stdin string, args ...string) ran {
	t.Helper()
	var out, err bytes.Buffer
	code := execute(context.Background(), args, streams{in: strings.NewReader(stdin), out: &out, err: &err, network: memnet.Dial})
	return ran{out.String(), err.String(), code}
}

// TestGolden runs every verb on every case of testdata/golden. Cases rule-ID and
// rule-ID-not show one rule; in those of live clusters the input is a dump.
func TestGolden(t *testing.T) {
	var ran []golden.Case
	for _, c := range golden.Inputs(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Chdir(c.LayOut(t))
			outputs := outputsOf(t, c)
			if *update {
				maps.Copy(outputs, c.Files)
				ran = append(ran, golden.Case{Name: c.Name, Files: outputs})
				return
			}
			compare(t, golden.Read(t, c.Name).Outputs(), outputs)
		})
	}
	if *update {
		golden.Write(t, ran)
	}
}

// outputsOf returns what the verbs print of a case, by the names of the files.
func outputsOf(t *testing.T, c golden.Case) map[string]string {
	if isLive(c) {
		return liveOutputs(t, c)
	}
	input, flags := c.Input(), c.Flags()
	known := []string{"--end-state", "external"} // what someone answers for, or does manually
	switch {
	case strings.Contains(c.Text(), "machinePools"):
		known = nil
	case !strings.HasPrefix(c.Name, "rke2-"):
		known = append(known, "--manual-done", stages.GrantMigrationLease, "--manual-done", stages.InstallCCM, "--manual-done", stages.SwitchToExternal)
	}
	files := map[string]string{}
	var transcript strings.Builder
	record := func(file string, args ...string) {
		args = append(append(args, flags...), input)
		r := runHere(t, "", args...)
		if r.stdout != "" {
			files[file] = r.stdout
		}
		fmt.Fprintf(&transcript, "$ rke-lm %s\n%s[exit %d]\n", strings.Join(args, " "), r.stderr, r.code)
	}
	if rule, isRule := ruleOf(t, c); isRule {
		record("lint.txt", "lint")
		record("lint.json", "lint", "-o", "json")
		if rule.Fixable {
			record("fixed"+filepath.Ext(input), "lint", "--fix", "--stdout")
		}
		record("plan.txt", "plan")
		files["transcript.txt"] = transcript.String()
		return files
	}
	record("plan.txt", "plan")
	record("plan.json", "plan", "-o", "json")
	record("explain.txt", "explain")
	if !strings.HasPrefix(c.Name, "refused-") {
		for i, stage := range stages.Names() {
			ofUpgrade := !slices.Contains(stages.UndoNames(), stage)
			if !slices.Contains(stages.EditNames(), stage) || ofUpgrade != strings.Contains(c.Name, "-upgrade-") {
				continue
			}
			name := fmt.Sprintf("%02d-%s%s", i+1, stage, filepath.Ext(input))
			record(name, append([]string{"apply", "--stdout", "--through", "--stage", stage}, known...)...)
		}
	}
	files["transcript.txt"] = transcript.String()
	return files
}

// compare requires that the verbs print what a case expects, and nothing else.
func compare(t *testing.T, want, got map[string]string) {
	t.Helper()
	both := map[string]bool{}
	for _, files := range []map[string]string{want, got} {
		for name := range files {
			both[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if _, printed := got[name]; !printed {
			t.Errorf("%s is stale; run: make golden", name)
		} else if want[name] != got[name] {
			t.Errorf("%s differs; if this is right, run: make golden\n%s", name, udiff.Unified("want/"+name, "got/"+name, want[name], got[name]))
		}
	}
}

// sweep skips in short runs what tries one input after another: it depends on no timing, so that to repeat it finds nothing.
func sweep(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a sweep over many inputs, which runs without -short")
	}
}
