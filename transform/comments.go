// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// RuleComment is said of a comment at a value that a stage changes. It depends on
// the edit and not on the document, so no distro's table has it.
const RuleComment = "comment-outdated"

// commentNotes names the comments at the values that an edit replaces: every one
// of them stays, and what it says may no longer be true.
func commentNotes(edit *yamledit.Edit) []Finding {
	var notes []Finding
	said := map[int]bool{}
	for _, n := range edit.Replaced() {
		for _, line := range n.Comments() {
			if begins := !said[line] && !said[line-1]; begins {
				f := FindingAt(n, "this comment describes a value that the stage changes; the stage keeps the comment", "update the comment if it is no longer true")
				f.Rule, f.Severity, f.Line = RuleComment, Note, line
				notes = append(notes, f)
			}
			said[line] = true
		}
	}
	return notes
}

// uncommented refuses to take away what has a comment: no stage writes one, so it
// may have been there before. The usual form is to take it away and to keep the
// comment.
func uncommented(edit *yamledit.Edit, target Target) error {
	if target.Canonical {
		return nil
	}
	for _, n := range edit.Removed() {
		if lines := n.Comments(); len(lines) > 0 {
			return Undetermined(n, fmt.Sprintf("it has a comment (line %d), which no stage writes, so it may be older than the stage", lines[0]))
		}
	}
	return nil
}
