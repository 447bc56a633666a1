// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestMapKeepsTheOrderAndMakesNothingOfNothing(t *testing.T) {
	assert.EqualSlices(t, Map([]int{2, 1}, strconv.Itoa), []string{"2", "1"})
	got := Map([]int{}, strconv.Itoa)
	assert.True(t, got == nil, got)
}

func TestWhereKeepsThoseThatAreSoAndTheirList(t *testing.T) {
	list := []int{3, 1, 2, 1}
	assert.EqualSlices(t, Where(list, func(n int) bool { return n != 1 }), []int{3, 2})
	assert.EqualSlices(t, list, []int{3, 1, 2, 1})
	got := Where(list, func(n int) bool { return n > 3 })
	assert.True(t, got == nil, got)
}

func TestFlatJoinsInTheOrderOfTheItems(t *testing.T) {
	assert.EqualSlices(t, Flat([]string{"b a", "", "c"}, strings.Fields), []string{"b", "a", "c"})
	got := Flat([]string{""}, strings.Fields)
	assert.True(t, got == nil, got)
}

func TestFindReturnsTheFirstOne(t *testing.T) {
	even := func(n int) bool { return n%2 == 0 }
	got, has := Find([]int{1, 4, 2}, even)
	assert.True(t, got == 4 && has, got, has)
	got, has = Find([]int{1}, even)
	assert.True(t, got == 0 && !has, got, has)
}

func TestCheckReturnsTheFirstError(t *testing.T) {
	failing := func(text string) error { _, err := strconv.Atoi(text); return err }
	assert.ErrorContains(t, Check([]string{"1", "b", "c"}, failing), `"b"`)
	assert.NilError(t, Check([]string{"1", "2"}, failing))
}

func TestDistinctKeepsTheFirstOfThoseThatRepeat(t *testing.T) {
	assert.EqualSlices(t, Distinct([]string{"b", "a", "b", "c", "a"}), []string{"b", "a", "c"})
}

func TestKeysAreThoseOfAllMapsInOrder(t *testing.T) {
	assert.EqualSlices(t, Keys(map[string]int{"b": 1, "a": 2}, nil, map[string]int{"c": 1, "a": 3}), []string{"a", "b", "c"})
}

func TestFoundHasWhatIsFoundForItemsInTheirOrder(t *testing.T) {
	even := func(n int) (string, bool) { return strconv.Itoa(n), n%2 == 0 }
	assert.EqualSlices(t, Found([]int{4, 1, 2}, even), []string{"4", "2"})
	got := Found([]int{1}, even)
	assert.True(t, got == nil, got)
}

func TestFewCountsThoseThatItDoesNotName(t *testing.T) {
	for list, want := range map[string]string{"": "", "a": "a", "a b": "a, b", "a b c d": "a, b and 2 more"} {
		assert.Equal(t, Few(strings.Fields(list), 2), want, list)
	}
}

func TestRowsAreTheLinesThatAreNoComments(t *testing.T) {
	assert.DeepEqual(t, slices.Collect(Rows("# a table\na\tb  c\n\n#d e\n")), [][]string{{"a", "b", "c"}, {"#d", "e"}})
	for range Rows("a\nb\n") {
		break
	}
}
