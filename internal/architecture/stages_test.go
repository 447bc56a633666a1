// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

var (
	stageConstant = regexp.MustCompile(`(?m)^const ([A-Z]\w+) = "[a-z-]+"$`)
	stageUse      = regexp.MustCompile(`\bstages\.([A-Z]\w+)`)
)

// TestAStageIsNamedInFewFiles: its meaning is a file of transform/stages, and what rules stop is a list of
// transform/rules. Whoever changes a stage reads these files and no others.
func TestAStageIsNamedInFewFiles(t *testing.T) {
	const most = 8
	var known []string
	in := map[string][]string{}
	for _, f := range code(t) {
		text := assert.Value(os.ReadFile(filepath.Join(root, f.path)))(t)
		if f.folder == "transform/stages" {
			for _, m := range stageConstant.FindAllSubmatch(text, -1) {
				known = append(known, string(m[1]))
			}
		}
		for _, m := range stageUse.FindAllSubmatch(text, -1) {
			if stage := string(m[1]); !slices.Contains(in[stage], f.path) {
				in[stage] = append(in[stage], f.path)
			}
		}
	}
	for _, stage := range known {
		assert.Truef(t, len(in[stage]) <= most, "%s is named in %d files, at most %d: %q; use a list of transform/rules, or ask transform/stages", stage, len(in[stage]), most, in[stage])
	}
	assert.Truef(t, len(known) >= 10, "only %d stages were found: %q", len(known), known)
}
