// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/check"
)

// isLive reports whether a golden case is the dump of a live cluster.
func isLive(c golden.Case) bool { return strings.HasPrefix(c.Name, "live-") }

// verified returns what verify says about a dump.
func verified(t *testing.T, name string) report.Verification {
	t.Helper()
	c := golden.Input(t, name)
	r := runHere(t, "", slices.Concat([]string{"verify", "-o", "json", "--from", filepath.Join(c.LayOut(t), c.Input())}, c.Flags())...)
	var v report.Verification
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
	for _, r := range check.Rules() {
		t.Run(r.ID, func(t *testing.T) {
			found := verified(t, "live-"+r.ID).Findings
			if !slices.ContainsFunc(found, func(f transform.Finding) bool { return f.Rule == r.ID && f.Severity == r.Severity }) {
				t.Errorf("not found in the case that shows it: %+v", found)
			}
			for _, f := range found {
				if f.Rule != r.ID && !slices.Contains(together[r.ID], f.Rule) || f.Message == "" || f.Fix == "" || f.Path == "" {
					t.Errorf("%+v", f)
				}
			}
			if v := verified(t, "live-"+r.ID+"-not"); !v.OK || len(v.Findings) > 0 {
				t.Errorf("found in the case that nearly shows it: %+v", v.Findings)
			}
		})
	}
}

func TestLiveCasesSayWhatTheyShow(t *testing.T) {
	cases := golden.Inputs(t, "live-")
	if len(cases) < 2*len(check.Rules()) {
		t.Errorf("%d cases for %d rules", len(cases), len(check.Rules()))
	}
	for _, c := range cases {
		if !strings.HasPrefix(c.Text(), "# ") {
			t.Errorf("%s does not say what it shows", c.Name)
		}
	}
}

func TestADumpMayComeFromStandardInput(t *testing.T) {
	c := golden.Input(t, "live-kubectl")
	file := runHere(t, "", "verify", "--from", filepath.Join(c.LayOut(t), c.Input()))
	if r := runHere(t, c.Text(), "verify", "--from", "-"); r.code != file.code || r.stdout != file.stdout || r.stderr != file.stderr {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if r := runHere(t, "{", "verify", "--from", "-"); r.code != exitcode.Input || !strings.Contains(r.stderr, "<stdin>:1: ") {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
}
