// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// RuleComment is said of a comment at a value that a stage changes. It depends on
// the edit and not on the document, so no format's table has it.
const RuleComment = "comment-outdated"

// CommentOutdated is the rule of such notes. They block nothing.
var CommentOutdated = transform.Rule{ID: RuleComment, Severity: transform.Note, Doc: "A comment next to a value that a stage changes describes the old value, or names it; the stage keeps the comment."}.Because(
	"A comment next to a changed value describes the old value, and a reader trusts it.", "the file itself", "Update the comment in the same commit.", "")

// line is one of a document.
type line struct {
	of     *yamledit.Document
	number int
}

// reference is a comment that describes nothing: the ID of an issue, or a link.
var reference = regexp.MustCompile(`^#+\s*([A-Z][A-Z0-9]*-\d+|#\d+|https?://\S+)\s*$`)

// commentNotes names the comments at the values that an edit replaces: every one
// of them stays, and what it says may no longer be true.
func commentNotes(edit *yamledit.Edit) []transform.Finding {
	var notes []transform.Finding
	covered := map[line]bool{}
	for _, n := range eachNode(edit, (*yamledit.Edit).Replaced) {
		for _, l := range n.Comments() {
			if reference.MatchString(n.Document().Comment(l)) {
				continue
			}
			if begins := !covered[line{n.Document(), l}] && !covered[line{n.Document(), l - 1}]; begins {
				f := transform.FindingAt(n, "this comment describes a value that the stage changes; the stage keeps the comment", "update the comment if it is no longer true")
				f.Rule, f.Severity, f.Line = RuleComment, transform.Note, l
				notes = append(notes, f)
			}
			covered[line{n.Document(), l}] = true
		}
	}
	return notes
}

// eachNode returns nodes of an edit, document by document.
func eachNode(edit *yamledit.Edit, of func(*yamledit.Edit) []yamledit.Node) []yamledit.Node {
	return slices.Concat(lists.Map(edit.Each(), of)...)
}

// uncommented refuses to take away what has a comment: no stage writes one, so it
// may have been there before. The usual form is to take it away and to keep the
// comment.
func uncommented(edit *yamledit.Edit, target transform.Target) error {
	if target.CanonicalForm {
		return nil
	}
	for _, n := range eachNode(edit, (*yamledit.Edit).Removed) {
		if lines := n.Comments(); len(lines) > 0 {
			return transform.Undetermined(n, fmt.Sprintf("it has a comment (line %d), which no stage writes, so it may be older than the stage", lines[0]))
		}
	}
	return nil
}
