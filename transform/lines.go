// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "github.com/rke-lm/rke-lm/transform/yamledit"

// trail is the way from the document as it stands in the file to the one that a
// stage sees: what earlier stages would have changed.
type trail []leg

type leg struct {
	before, after *yamledit.Document
	splices       []yamledit.Splice
}

// line returns the line of the file for a line behind the last leg. For text
// that a stage would add it is the line behind which it is added.
func (t trail) line(l int) int {
	for i := len(t) - 1; i >= 0; i-- {
		at := yamledit.Origin(t[i].splices, t[i].after.LineStart(l))
		l = t[i].before.LineOf(at)
	}
	return l
}

// places returns where an edit changes the file.
func (t trail) places(nodes []yamledit.Node) []Place {
	var places []Place
	for _, n := range nodes {
		places = append(places, Place{Path: n.Path(), Line: t.line(n.Line())})
	}
	return places
}

// findings moves findings to the lines of the file.
func (t trail) findings(found []Finding) []Finding {
	for i := range found {
		found[i].Line = t.line(found[i].Line)
	}
	return found
}
