// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

func TestStagesThatEditAreInTheOrderOfAll(t *testing.T) {
	edits := lists.Where(Names(), func(s string) bool { return slices.Contains(EditNames(), s) })
	assert.EqualSlices(t, edits, EditNames())
}

func TestStagesHaveNamesOfTheirOwn(t *testing.T) {
	assert.EqualSlices(t, lists.Distinct(Names()), Names())
	assert.True(t, !slices.Contains(Names(), ""), Names())
}
