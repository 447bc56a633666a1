// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
)

// TestAListIsPlannedAndAppliedItemByItem takes the clusters of a list forward and backward
// with saved plans. The plan of one does not depend on its neighbour.
func TestAListIsPlannedAndAppliedItemByItem(t *testing.T) {
	for _, name := range []string{"rke2-list-of-clusters", "rke1-list-in-json"} {
		c := golden.Input(t, name)
		file, plans := filepath.Join(c.LayOut(t), c.Input()), filepath.Join(t.TempDir(), "plans")
		content := func() string { return textOf(t, file) }
		ok := func(args ...string) {
			t.Helper()
			r := runHere(t, "", args...)
			assert.Mustf(t, r.code == 0, "%s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
		}
		ok("plan", "--out", plans, file)
		ok("apply", "--plan", plans, "--stage", "enable-leader-migration", "--through", file)
		got := content()
		assert.Truef(t, strings.Count(got, "enable-leader-migration") >= 2, "%s: not all items were changed\n%s", name, got)
		ok("apply", "--plan", plans, "--undo", "enable-leader-migration", file)
		ok("apply", "--plan", plans, "--undo", "grant-migration-lease", file)
		got = content()
		assert.Truef(t, got == c.Text(), "%s: not the same bytes:\n%s", name, got)
		staged, err := filepath.Glob(filepath.Join(plans, "*", "*", "*enable-leader-migration.*"))
		more, _ := filepath.Glob(filepath.Join(plans, "*", "*enable-leader-migration.*"))
		assert.Truef(t, err == nil && len(staged)+len(more) >= 4, "%s: files of stages: %v %v", name, staged, more)
		for _, document := range staged {
			text, err := os.ReadFile(document)
			assert.Truef(t, err == nil && (!strings.HasSuffix(document, "aml") || strings.HasPrefix(string(text), "apiVersion:")), "%s is no file of its own: %v", document, err)
		}
	}
}
