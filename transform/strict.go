// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// StrictErrors is what strict decoding into a distro's own type says, and how
// often. It names fields, never values.
type StrictErrors map[string]int

// listIndex is the place in a list; an entry in front of others moves them.
var listIndex = regexp.MustCompile(`\[\d+\]`)

// Add counts one error.
func (s StrictErrors) Add(message string) { s[listIndex.ReplaceAllString(message, "[]")]++ }

// Worse fails when a document gained an error that the one before did not have,
// or has one more often.
func (s StrictErrors) Worse(before StrictErrors) error {
	for _, field := range slices.Sorted(maps.Keys(s)) {
		if s[field] > before[field] {
			return fmt.Errorf("the result has a field that its schema does not allow: %s", field)
		}
	}
	return nil
}
