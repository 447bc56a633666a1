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

// unchanged are the revisions of documents that a stage leaves as they are.
func unchanged(docs []*yamledit.Document) []Revision {
	return lists.Map(docs, func(doc *yamledit.Document) Revision { return Revision{Before: doc, After: doc} })
}

// summed is the revision as a saved plan has it.
func (r Revision) summed() Revision {
	return Revision{
		BeforeSum: sum(r.Before.Bytes()), AfterSum: sum(r.After.Bytes()),
		Splices: append([]yamledit.Splice{}, r.Splices...), Reverse: append([]yamledit.Splice{}, r.Reverse...),
	}
}

// revise applies an edit to the documents that it changes. Each change is proven by
// itself, and the bytes of the other documents stay.
func revise(docs []*yamledit.Document, edit *yamledit.Edit) ([]Revision, error) {
	revised := unchanged(docs)
	for _, e := range edit.Each() {
		i := slices.Index(docs, e.Document())
		switch {
		case e.Empty():
			continue
		case i < 0:
			return nil, e.Document().Root().Errorf("a stage edits a document that is not one of its cluster", "report this as a bug of rke-lm")
		}
		r := &revised[i]
		var err error
		if r.After, r.Splices, err = e.Apply(); err != nil {
			return nil, err
		}
		if r.Reverse, err = yamledit.Reverse(r.Before.Bytes(), r.Splices); err != nil {
			return nil, err
		}
	}
	return revised, nil
}

// revisions lead from the documents in the files to those that a stage gets: what
// earlier stages would have changed.
type revisions [][]Revision

// line returns the line of the file for a line of document i after the last revision.
// For text that a stage would add it is the line after which it is added.
func (rs revisions) line(i, l int) int {
	for _, r := range slices.Backward(rs) {
		at := yamledit.Origin(r[i].Splices, r[i].After.LineStart(l))
		l = r[i].Before.LineOf(at)
	}
	return l
}

// places returns where an edit changes the files.
func (rs revisions) places(docs []*yamledit.Document, edit *yamledit.Edit) []Place {
	var places []Place
	for _, e := range edit.Each() {
		i := slices.Index(docs, e.Document())
		for _, n := range e.Nodes() {
			p := Place{Path: n.Path(), Line: rs.line(i, n.Line())}
			if len(docs) > 1 {
				p.File = n.Document().File()
			}
			places = append(places, p)
		}
	}
	return places
}

// findings moves findings to the lines of the files.
func (rs revisions) findings(docs []*yamledit.Document, found []transform.Finding) []transform.Finding {
	for i, f := range found {
		if at := documentOf(docs, f); at >= 0 {
			found[i].Line = rs.line(at, f.Line)
		}
	}
	return found
}

// documentOf returns which document a finding is about, or -1. All are about the only
// one.
func documentOf(docs []*yamledit.Document, f transform.Finding) int {
	if len(docs) == 1 {
		return 0
	}
	return slices.IndexFunc(docs, func(d *yamledit.Document) bool { return d.File() == f.File && d.Chunk().Offset == f.Offset })
}

// opened is a cluster and its stages. Neither changes.
type opened struct {
	transform.Cluster
	stages []transform.Listed
}

func open(d transform.Format, docs []*yamledit.Document, target transform.Target) (*opened, error) {
	c, err := d.Open(docs, target)
	if err != nil {
		return nil, err
	}
	return &opened{c, c.Stages()}, nil
}

// evaluate returns how far stage i is, and its edit if that is to be applied.
func (c *opened) evaluate(i int, choice Choice) (State, *yamledit.Edit, error) {
	s, state := c.stages[i].Stage(), Done
	if s.Skipped != nil && s.Skipped() {
		state = Skipped
	}
	if s.NotInFile != nil && s.NotInFile() {
		if s.Edit == nil || !choice.names(s.Name) {
			return NotInFile, nil, nil
		}
		state = NotInFile
	}
	if s.Edit == nil {
		return ActionOnly, nil, nil
	}
	superseded, err := c.superseded(i)
	if err != nil || superseded {
		return state, nil, err
	}
	edit, err := s.Edit()
	if err != nil || edit.Empty() {
		return state, nil, err
	}
	return state, edit, nil
}

// superseded reports whether a later stage that leaves nothing to do for stage i is
// done.
func (c *opened) superseded(i int) (bool, error) {
	for _, name := range c.stages[i].Stage().SupersededBy {
		s, found := stageOf(c.stages[i+1:], name)
		if !found || s.Early != nil && s.Early() {
			continue
		}
		if edit, err := s.Edit(); err != nil || edit.Empty() {
			return err == nil, err
		}
	}
	return false, nil
}

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
