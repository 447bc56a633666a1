// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"errors"
	"slices"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

var errNotPlanned = errors.New("not in the plan")

// savedFileSteps takes the document of a cluster as far as its saved plan says.
func (a Apply) savedFileSteps(f clusters.Cluster) ([]fileStep, []transform.Manual, error) {
	plan, ok := a.picked(f)
	if !ok {
		return nil, nil, errNotPlanned
	}
	steps, err := a.savedSteps(plan, f.Docs)
	if err != nil {
		return nil, nil, err
	}
	var fileSteps []fileStep
	before := f.Docs
	for _, s := range steps {
		t := fileStep{stage: s.Stage.Name, caution: s.Stage.Caution}
		if t.after, err = revised(f.Docs, s.After); err != nil {
			return nil, nil, err
		}
		if a.Undo == "" {
			t.blocked, t.findings = s.Stage.State == transform.Blocked, s.Stage.Findings
			if err := renames(f.Distro, before, t.after, f.For(plan.Target), &t); err != nil {
				return nil, nil, err
			}
		}
		before = t.after
		fileSteps = append(fileSteps, t)
	}
	if a.Undo != "" {
		return fileSteps, nil, nil
	}
	return fileSteps, plan.Passed(steps, a.Choice), nil
}

// picked is the saved plan of a cluster, with the manual stages that are confirmed since.
func (a Apply) picked(f clusters.Cluster) (transform.Saved, bool) {
	plan, ok := transform.Pick(a.Saved, f.Distro.Identify(f.Docs[0]), f.Docs, a.Undo != "")
	plan.Target.ManualDone = slices.Concat(plan.Target.ManualDone, a.Options.Target.ManualDone)
	return plan, ok
}

func (a Apply) savedSteps(plan transform.Saved, docs []*yamledit.Document) ([]transform.SavedStep, error) {
	if a.Undo != "" {
		return plan.Back(docs, a.Undo, a.Choice.Through)
	}
	return plan.Forward(docs, a.Choice)
}

// revised returns documents with other texts; one whose text stays is the same.
func revised(docs []*yamledit.Document, texts [][]byte) ([]*yamledit.Document, error) {
	after := slices.Clone(docs)
	for i, doc := range docs {
		chunk := doc.Chunk()
		if bytes.Equal(chunk.Bytes, texts[i]) {
			continue
		}
		var err error
		chunk.Bytes = texts[i]
		if after[i], err = yamledit.Parse(chunk); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// renames blocks a step that renames Nodes: earlier versions of rke-lm planned it without an acceptance.
func renames(d transform.Distro, before, after []*yamledit.Document, chosen transform.Target, t *fileStep) error {
	c, err := d.Open(before, chosen)
	if err != nil || t.blocked {
		return err
	}
	if c, err = d.Open(after, c.Chosen()); err != nil {
		return err
	}
	for _, f := range transform.Stopping(c.Findings(t.stage)) {
		if f.Rule == rules.NodeRename.ID {
			t.blocked, t.findings = true, append(t.findings, f)
		}
	}
	return nil
}
