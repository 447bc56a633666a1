// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// sortedPlace returns the index at which key keeps a mapping of three or more
// sorted keys sorted.
func sortedPlace(m Node, key string) (int, bool) {
	if m.IsMap() && mergeKey(m.y) != nil {
		return 0, false // indexes count what is written
	}
	es := m.Entries()
	byKey := func(a, b Entry) int { return strings.Compare(a.Key, b.Key) }
	if len(es) < 3 || !slices.IsSortedFunc(es, byKey) {
		return 0, false
	}
	i, _ := slices.BinarySearchFunc(es, Entry{Key: key}, byKey)
	return i, true
}

// clearOfComments returns the last index up to i in front of which a literal
// block can be written without taking in what follows: a comment that is indented like
// its text, or a line of more blanks than that.
func (d *Document) clearOfComments(m Node, i int) int {
	if !m.IsMap() || m.written() == 0 || m.y.Style&yaml.FlowStyle != 0 {
		return i
	}
	textColumn := m.y.Content[0].Column - 1 + d.style().step
	for at := i; at > 0; at-- {
		if !d.swallowed(d.lines().of(d.entryEnd(m.y, at-1))+1, textColumn) {
			return at
		}
	}
	if m.key != nil && m.y.Content[0].Line > m.key.Line && !d.swallowed(d.lines().of(d.afterColon(m.key))+1, textColumn) {
		return 0
	}
	return i
}

// swallowed reports whether a literal block with text in a column would take a
// comment, or blanks, from line l on for its own.
func (d *Document) swallowed(l, column int) bool {
	for ix := d.lines(); l < ix.count(); l++ {
		spaces, blank := ix.indent(l)
		switch {
		case !blank:
			return spaces >= column && ix.text(l)[spaces] == '#'
		case spaces > column:
			return true
		}
	}
	return false
}
