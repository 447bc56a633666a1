// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"slices"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Edit is what becomes of the documents of a cluster.
type Edit struct {
	report.Outcome // up to what becomes of the file
	Changes        []clusters.Change
	Moved          int // lines that are added
}

// edited compares documents with those that replace them, in a dry run with their diffs; first is the stage that changes
// each first.
func edited(o report.Outcome, dry bool, before, after []*yamledit.Document, first func(i int) int) (e Edit, diffs []string) {
	e.Outcome = o
	for i, doc := range before {
		if after[i] == doc {
			continue
		}
		if dry {
			diffs = append(diffs, report.Diff(doc, after[i]))
		}
		e.Moved += bytes.Count(after[i].Bytes(), []byte("\n")) - bytes.Count(doc.Bytes(), []byte("\n"))
		e.Changes = append(e.Changes, clusters.Change{Before: doc.Chunk(), After: after[i].Chunk(), First: first(i)})
	}
	return e, diffs
}

// rewriting writes files once all of their clusters are known, unless one failed.
type rewriting struct {
	*clusters.Rewriter
	edits  map[string][]Edit  // by file
	errs   map[string][]error // by file, which are shown when it ends
	failed map[string]bool    // files that are not written
}

func newRewriting(files *clusters.Rewriter) rewriting {
	return rewriting{files, map[string][]Edit{}, map[string][]error{}, map[string]bool{}}
}

// end writes files that end together, with the edits of their clusters, and returns what became of them.
func (w rewriting) end(texts []source.Text) (ends report.Ends) {
	failed, of := false, "it"
	if len(texts) > 1 {
		of = "the files of its cluster"
	}
	var changes []clusters.Change
	for _, t := range texts {
		failed, ends.Errs = failed || w.failed[t.Name], append(ends.Errs, w.errs[t.Name]...)
		delete(w.errs, t.Name)
		changes = append(changes, lists.Flat(w.edits[t.Name], func(e Edit) []clusters.Change { return e.Changes })...)
	}
	var list []clusters.File
	for _, t := range texts {
		changed := slices.DeleteFunc(slices.Clone(changes), func(c clusters.Change) bool { return c.Before.File != t.Name })
		if list = append(list, clusters.File{Text: t, Changes: changed}); failed && len(changed) > 0 {
			ends.Notes = append(ends.Notes, t.Name+": not written, because of errors in "+of)
		}
	}
	if !failed {
		if err := w.Write(list); err != nil {
			failed, ends.Errs = true, append(ends.Errs, err)
		}
	}
	for _, f := range list {
		if w.failed[f.Name] = failed; failed {
			continue
		}
		if len(f.Changes) > 0 && !w.Prints(f.Text) {
			ends.Files = append(ends.Files, w.became(f.Text))
		}
		for _, e := range w.edits[f.Name] {
			if len(e.Changes) > 0 {
				ends.Clusters = append(ends.Clusters, report.Outcome{Name: e.Name, What: e.What + " " + w.became(f.Text)})
			}
		}
	}
	return ends
}

// left is how a run leaves the documents of a cluster that became others, nil for none: unchanged where its file failed, or
// nothing is written. It reports whether they are written where they are from.
func (w rewriting) left(r clusters.Result, after [][]byte) (left [][]byte, written bool) {
	if after == nil || w.failed[r.File] || w.DryRun {
		return texts(r.Docs), false
	}
	return after, !w.Print && r.File != yamledit.Stdin
}

// became is what became of a file that did not fail.
func (w rewriting) became(f source.Text) string {
	switch {
	case w.DryRun:
		return "would be written"
	case w.Prints(f):
		return "printed"
	}
	return "written"
}

func texts(docs []*yamledit.Document) [][]byte { return lists.Map(docs, (*yamledit.Document).Bytes) }

// revised returns documents with other texts, of which each was parsed before; one whose text stays is the same.
func revised(docs []*yamledit.Document, texts [][]byte) []*yamledit.Document {
	after := slices.Clone(docs)
	for i, doc := range docs {
		if chunk := doc.Chunk(); !bytes.Equal(chunk.Bytes, texts[i]) {
			chunk.Bytes = texts[i]
			after[i], _ = yamledit.Parse(chunk)
		}
	}
	return after
}
