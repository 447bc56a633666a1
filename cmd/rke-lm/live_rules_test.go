// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/check"
)

// isLive reports whether a golden case is the dump of a live cluster.
func isLive(c golden.Case) bool { return strings.HasPrefix(c.Name, "live-") }

// verified returns what verify says about a dump.
func verified(t *testing.T, name string) report.Verification {
	t.Helper()
	c := golden.Input(t, name)
	r := runHere(t, "", slices.Concat([]string{"verify", "-o", "json", "--from", filepath.Join(c.LayOut(t), c.Input())}, c.Flags())...)
	v := decoded[report.Verification](t, r.stdout)
	wrong := r.code == transform.ExitFound
	assert.Truef(t, wrong != v.OK, "exit code %d, and ok is %t", r.code, v.OK)
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
			assert.Truef(t, slices.ContainsFunc(found, func(f transform.Finding) bool { return f.Rule == r.ID && f.Severity == r.Severity }), "not found in the case that shows it: %+v", found)
			for _, f := range found {
				assert.True(t, (f.Rule == r.ID || slices.Contains(together[r.ID], f.Rule)) && f.Message != "" && f.Fix != "" && f.Path != "", f)
			}
			v := verified(t, "live-"+r.ID+"-not")
			assert.Truef(t, v.OK && len(v.Findings) == 0, "found in the case that nearly shows it: %+v", v.Findings)
		})
	}
}

func TestLiveCasesSayWhatTheyShow(t *testing.T) {
	cases := golden.Inputs(t, "live-")
	assert.Truef(t, len(cases) >= 2*len(check.Rules()), "%d cases for %d rules", len(cases), len(check.Rules()))
	for _, c := range cases {
		assert.Truef(t, strings.HasPrefix(c.Text(), "# "), "%s does not say what it shows", c.Name)
	}
}

func TestADumpMayComeFromStandardInput(t *testing.T) {
	c := golden.Input(t, "live-kubectl")
	file := runHere(t, "", "verify", "--from", filepath.Join(c.LayOut(t), c.Input()))
	r := runHere(t, c.Text(), "verify", "--from", "-")
	assert.Equal(t, r, file)
	runHere(t, "{", "verify", "--from", "-").shows(t, "no YAML", transform.ExitInput, "<stdin>:1: ")
}
