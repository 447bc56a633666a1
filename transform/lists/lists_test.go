// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"slices"
	"strconv"
	"testing"
)

func TestMapKeepsTheOrderAndMakesNothingOfNothing(t *testing.T) {
	if got := Map([]int{2, 1}, strconv.Itoa); !slices.Equal(got, []string{"2", "1"}) {
		t.Error(got)
	}
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
	if got := Distinct([]string{"b", "a", "b", "c", "a"}); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("got %v", got)
	}
}
