// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"strconv"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestMapKeepsTheOrderAndMakesNothingOfNothing(t *testing.T) {
	assert.EqualSlices(t, Map([]int{2, 1}, strconv.Itoa), []string{"2", "1"})
	if got := Map([]int{}, strconv.Itoa); got != nil {
		t.Error(got)
	}
}

func TestFindReturnsTheFirstOne(t *testing.T) {
	even := func(n int) bool { return n%2 == 0 }
	if got, has := Find([]int{1, 4, 2}, even); got != 4 || !has {
		t.Error(got, has)
	}
	if got, has := Find([]int{1}, even); got != 0 || has {
		t.Error(got, has)
	}
}

func TestDistinctKeepsTheFirstOfThoseThatRepeat(t *testing.T) {
	assert.EqualSlices(t, Distinct([]string{"b", "a", "b", "c", "a"}), []string{"b", "a", "c"})
}
