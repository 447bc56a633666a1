// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/transform"
)

// TestAListIsPlannedAndAppliedItemByItem takes the clusters of a list forward and backward
// with saved plans. The plan of one does not depend on its neighbour.
func TestAListIsPlannedAndAppliedItemByItem(t *testing.T) {
	for _, name := range []string{"rke2-list-of-clusters", "rke1-list-in-json"} {
		c := golden.Input(t, name)
		t.Chdir(c.LayOut(t))
		file := c.Input()
		shows(t, transform.ExitDone, "plan --out plans "+file)
		shows(t, transform.ExitDone, "apply --plan plans --stage enable-leader-migration --through "+file)
		got := textOf(t, file)
		assert.Truef(t, strings.Count(got, "enable-leader-migration") >= 2, "%s: not all items were changed\n%s", name, got)
		shows(t, transform.ExitDone, "apply --plan plans --undo enable-leader-migration "+file)
		shows(t, transform.ExitDone, "apply --plan plans --undo grant-migration-lease "+file)
		assert.Equal(t, textOf(t, file), c.Text(), name)
		staged, err := filepath.Glob("plans/*/*/*enable-leader-migration.*")
		assert.Truef(t, err == nil && len(staged) >= 4, "%s: files of stages: %v", name, staged)
		for _, document := range staged {
			assert.Truef(t, !strings.HasSuffix(document, "aml") || strings.HasPrefix(textOf(t, document), "apiVersion:"), "%s is no file of its own", document)
		}
	}
}
