// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// The diffs are valid unified diffs, also with the paths in their headings: git applies them to
// the same bytes that apply writes.
func TestGitAppliesTheDiffs(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for _, example := range []string{"docs-like.yaml", "ha-split-pools.yaml", "ui-made.yaml"} {
		text := textOf(t, filepath.Join("../../examples", example))
		t.Run(example, func(t *testing.T) {
			here(t, map[string]string{"clusters/a.yaml": text, "clusters/b.yaml": text})
			const apply = "apply --through --stage disable-leader-migration --end-state external --accept node-rename "
			diff := shows(t, transform.ExitDone, apply+"--dry-run clusters/a.yaml").stdout
			assert.Must(t, strings.Contains(diff, " @@ spec.rkeConfig."), diff)
			cmd := exec.Command(git, "apply", "-")
			cmd.Stdin = strings.NewReader(diff)
			out, err := cmd.CombinedOutput()
			assert.Mustf(t, err == nil, "%v\n%s\n%s", err, out, diff)
			shows(t, transform.ExitDone, apply+"clusters/b.yaml")
			if a, b := textOf(t, "clusters/a.yaml"), textOf(t, "clusters/b.yaml"); a != b || a == text {
				t.Errorf("git makes something else of\n%s", diff)
			}
		})
	}
}
