// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/transform/stages"
)

var update = flag.Bool("update", false, "rewrite the golden files and remove stale ones")

// ran is what one command line did.
type ran struct {
	stdout, stderr string
	code           int
}

// runHere runs a command line as a user would, without a terminal.
func runHere(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var out, err bytes.Buffer
	code := run(context.Background(), args, streams{in: strings.NewReader(stdin), out: &out, err: &err, network: memnet.Dial})
	return ran{out.String(), err.String(), code}
}

// TestGolden runs every verb on every folder of testdata/golden. A folder holds
// an input, perhaps a file flags with more arguments for every command, perhaps a
// kustomization.yaml that takes the input over, and all else in it is expected output. Folders rule-ID and rule-ID-not show one rule;
// in those of live clusters the input is a dump.
func TestGolden(t *testing.T) {
	root, err := filepath.Abs("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		t.Run(f.Name(), func(t *testing.T) {
			folder := filepath.Join(root, f.Name())
			t.Chdir(folder)
			compare(t, folder, outputsOf(t, folder))
		})
	}
}

// outputsOf returns the expected files of a case by name.
func outputsOf(t *testing.T, folder string) map[string]string {
	if isLive(folder) {
		return liveOutputs(t, folder)
	}
	input, flags := caseOf(t, folder)
	var known []string // what is done by hand
	if !strings.HasPrefix(filepath.Base(folder), "rke2-") {
		known = []string{"--by-hand", stages.InstallCCM, "--by-hand", stages.SwitchToExternal}
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
	if rule, isRule := ruleOf(t, folder); isRule {
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
	if !strings.HasPrefix(filepath.Base(folder), "refused-") {
		for i, stage := range stages.Names() {
			if !slices.Contains(stages.EditNames(), stage) {
				continue
			}
			name := fmt.Sprintf("%02d-%s%s", i+1, stage, filepath.Ext(input))
			record(name, append([]string{"apply", "--stdout", "--through", "--end-state", "external", "--stage", stage}, known...)...)
		}
	}
	files["transcript.txt"] = transcript.String()
	return files
}

func caseOf(t *testing.T, folder string) (input string, flags []string) {
	t.Helper()
	pattern := "input.*"
	if isLive(folder) {
		pattern = "dump.yaml"
	}
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("a case has one %s, not %v %v", pattern, found, err)
	}
	if b, err := os.ReadFile(filepath.Join(folder, "flags")); err == nil {
		flags = strings.Fields(string(b))
	}
	return filepath.Base(found[0]), flags
}

// compare requires that a folder holds exactly these files, or makes it so.
func compare(t *testing.T, folder string, files map[string]string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, expected := files[e.Name()]; expected || e.Name() == "flags" || e.Name() == "kustomization.yaml" || e.Name() == "dump.yaml" || strings.HasPrefix(e.Name(), "input.") {
			continue
		}
		if !*update {
			t.Errorf("%s is stale; run: make golden", e.Name())
		} else if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(folder, name)
		if *update {
			if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != files[name] {
			t.Errorf("%s differs; if this is right, run: make golden\n%s", name, udiff.Unified("want/"+name, "got/"+name, string(want), files[name]))
		}
	}
}
