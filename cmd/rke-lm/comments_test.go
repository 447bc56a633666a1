// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// TestNoStageAndNoUndoLosesAComment writes a comment on every line of every golden
// input that takes one, in manifests inside of strings too. Every stage and every
// undo has to keep all of them.
func TestNoStageAndNoUndoLosesAComment(t *testing.T) {
	sweep(t)
	for _, file := range goldenFiles(t) {
		if file.Input() != "input.yaml" || strings.HasPrefix(file.Name, "rule-") {
			continue // one rule in a file that is like all others
		}
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			for _, doc := range goldenDocuments(file) {
				c := doc.Chunk()
				c.Bytes = withComments(doc)
				commented := assert.Value(transform.Parse(c))(t)
				for _, target := range commentedTargets {
					if d, p := goldenPlan(doc, target); p != nil {
						keepsCommentsOfAllLines(t, d, commented, target)
					}
				}
			}
		})
	}
}

var commentedTargets = []transform.Target{
	{EndState: transform.EndStateExternal},
	{EndState: transform.EndStateOverride, LeaderMigrationConfig: transform.ConfigGenerate},
}

func keepsCommentsOfAllLines(t *testing.T, d transform.Format, doc *yamledit.Document, target transform.Target) {
	p, err := plan.Build(d, transform.Only(doc), target)
	assert.Mustf(t, err == nil, "with comments there is no plan: %v\n%s", err, doc.Bytes())
	for _, s := range p.Steps {
		if !s.Changes() {
			continue
		}
		allCommentsIn(t, "stage "+s.Stage.Name, s.Documents[0].Before, s.Documents[0].After)
		for _, canonical := range []bool{false, true} {
			back := target
			back.CanonicalForm = canonical
			steps, err := plan.Undo(d, s.After(), back, s.Stage.Name, false)
			if err != nil {
				continue // the file does not show
			}
			for _, u := range steps {
				allCommentsIn(t, "undo of "+s.Stage.Name, u.Documents[0].Before, u.Documents[0].After)
			}
		}
	}
}

// allCommentsIn looks for the comments that withComments wrote.
func allCommentsIn(t *testing.T, what string, before, after *yamledit.Document) {
	t.Helper()
	for i := range bytes.Count(before.Bytes(), []byte("# comment ")) {
		comment := fmt.Appendf(nil, "# comment %d;", i)
		if bytes.Count(after.Bytes(), comment) != bytes.Count(before.Bytes(), comment) {
			t.Errorf("%s loses %s of\n%s", what, comment, before.Bytes())
			return
		}
	}
}

// withComments writes a comment at the end of every line that means the same with
// it.
func withComments(was *yamledit.Document) []byte {
	lines, n := bytes.SplitAfter(was.Bytes(), []byte("\n")), 0
	for i, line := range lines {
		body := bytes.TrimRight(line, "\r\n")
		lines[i] = slices.Concat(body, fmt.Appendf(nil, " # comment %d;", n), line[len(body):])
		is, err := yamledit.ParseString("", string(bytes.Join(lines, nil)))
		if err != nil || !yamledit.Same(was.Root().Value(), is.Root().Value()) {
			lines[i] = line
			continue
		}
		n++
	}
	return bytes.Join(lines, nil)
}
