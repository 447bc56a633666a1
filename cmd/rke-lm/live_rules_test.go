// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/verify"
)

// isLive reports whether a golden case is the dump of a live cluster.
func isLive(folder string) bool { return strings.HasPrefix(filepath.Base(folder), "live-") }

func liveOutputs(t *testing.T, folder string) map[string]string {
	input, flags := caseOf(t, folder)
	files := map[string]string{}
	var transcript strings.Builder
	for file, more := range map[string][]string{"verify.txt": nil, "verify.json": {"-o", "json"}} {
		args := slices.Concat([]string{"verify", "--from", input}, more, flags)
		r := runHere(t, "", args...)
		files[file] = r.stdout
		if more == nil {
			fmt.Fprintf(&transcript, "$ rke-lm %s\n%s[exit %d]\n", strings.Join(args, " "), r.stderr, r.code)
		}
	}
	files["transcript.txt"] = transcript.String()
	return files
}

// verified returns what verify says about a dump.
func verified(t *testing.T, folder string) outputs.Verification {
	t.Helper()
	input, flags := caseOf(t, folder)
	r := runHere(t, "", slices.Concat([]string{"verify", "-o", "json", "--from", filepath.Join(folder, input)}, flags)...)
	var v outputs.Verification
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Fatalf("%v\n%s", err, r.stderr)
	}
	if wrong := r.code == exitcode.Found; wrong == v.OK {
		t.Errorf("exit code %d, and ok is %t", r.code, v.OK)
	}
	return v
}

// A rule finds what its case shows, and nothing else is wrong with it: each case
// breaks one thing.
func TestEveryLiveRuleIsShown(t *testing.T) {
	together := map[string][]string{ // what breaks with it
		"node-uninitialized": {"provider-id-missing"},
		"reverted":           {"lease-rbac-missing"},
	}
	for _, r := range verify.Rules() {
		t.Run(r.ID, func(t *testing.T) {
			folder := filepath.Join("testdata", "golden", "live-"+r.ID)
			found := verified(t, folder).Findings
			if !slices.ContainsFunc(found, func(f transform.Finding) bool { return f.Rule == r.ID && f.Severity == r.Severity }) {
				t.Errorf("not found in the case that shows it: %+v", found)
			}
			for _, f := range found {
				if f.Rule != r.ID && !slices.Contains(together[r.ID], f.Rule) || f.Message == "" || f.Fix == "" || f.Path == "" {
					t.Errorf("%+v", f)
				}
			}
			if v := verified(t, folder+"-not"); !v.OK || len(v.Findings) > 0 {
				t.Errorf("found in the case that nearly shows it: %+v", v.Findings)
			}
		})
	}
}

func TestLiveCasesSayWhatTheyShow(t *testing.T) {
	dumps, err := filepath.Glob("testdata/golden/live-*/dump.yaml")
	if err != nil || len(dumps) < 2*len(verify.Rules()) {
		t.Errorf("%d cases for %d rules, %v", len(dumps), len(verify.Rules()), err)
	}
	for _, dump := range dumps {
		if text, err := os.ReadFile(dump); err != nil || !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s does not say what it shows: %v", dump, err)
		}
	}
}

func TestADumpMayComeFromStandardInput(t *testing.T) {
	text, err := os.ReadFile("testdata/golden/live-kubectl/dump.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := runHere(t, "", "verify", "--from", "testdata/golden/live-kubectl/dump.yaml")
	if r := runHere(t, string(text), "verify", "--from", "-"); r.code != file.code || r.stdout != file.stdout || r.stderr != file.stderr {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if r := runHere(t, "{", "verify", "--from", "-"); r.code != exitcode.Input || !strings.Contains(r.stderr, "<stdin>:1: ") {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
}
