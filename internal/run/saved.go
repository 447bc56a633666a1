// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"slices"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// savedSteps takes the documents of a cluster as far as its saved plan says.
func (a Apply) savedSteps(f clusters.Cluster, saved plan.Saved) (steps, manual []plan.Step, err error) {
	if a.Undo != "" {
		steps, err = saved.Undo(f.Docs, a.Undo, a.Choice.Through)
		return steps, nil, err
	}
	p, err := saved.Open(f.Docs)
	if err != nil {
		return nil, nil, err
	}
	if steps, err = p.Choose(a.Choice); err != nil {
		return nil, nil, err
	}
	for i := range steps {
		if err := blockedSince(f.Format, &steps[i], f.For(p.Target)); err != nil {
			return nil, nil, err
		}
	}
	return steps, p.Passed(steps, a.Choice), nil
}

// picked is the saved plan of a cluster, with the manual stages that are confirmed since.
func (a Apply) picked(f clusters.Cluster) (plan.Saved, bool) {
	plan, ok := plan.Pick(a.Saved, f.Format.Identify(f.Docs[0]), f.Docs, a.Undo != "")
	plan.Target.ManualDone = slices.Concat(plan.Target.ManualDone, a.Options.Target.ManualDone)
	return plan, ok
}

func texts(docs []*yamledit.Document) [][]byte { return lists.Map(docs, (*yamledit.Document).Bytes) }

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

// blockedSince blocks a step for errors that earlier versions of rke-lm did not find as they planned it.
func blockedSince(d transform.Format, s *plan.Step, chosen transform.Target) error {
	c, err := d.Open(s.Before(), chosen)
	if err != nil || s.State == plan.Blocked {
		return err
	}
	chosen = c.Chosen()
	chosen.Before = c
	if c, err = d.Open(s.After(), chosen); err != nil {
		return err
	}
	for _, f := range transform.Stopping(c.Findings(s.Stage.Name)) {
		if f.Rule == rules.NodeRename.ID || f.Rule == rules.LeaseTimingsUnsafe.ID {
			s.State, s.Findings = plan.Blocked, append(s.Findings, f)
		}
	}
	return nil
}
