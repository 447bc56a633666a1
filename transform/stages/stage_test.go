// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestStagesThatEditAreInTheOrderOfAll(t *testing.T) {
	edits := slices.Clone(Names())
	edits = slices.DeleteFunc(edits, func(s string) bool { return !slices.Contains(EditNames(), s) })
	assert.EqualSlices(t, edits, EditNames())
}

func TestStagesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range Names() {
		assert.Truef(t, !seen[name] && name != "", "%q is in the list twice", name)
		seen[name] = true
	}
}
