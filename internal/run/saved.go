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

// picked is the saved plan of a cluster, with the manual stages that are confirmed since.
func (a Apply) picked(f clusters.Cluster) (plan.Saved, bool) {
	plan, ok := plan.Pick(a.Saved, f.Format.Identify(f.Docs[0]), f.Docs, a.Undo != "")
	plan.Target.ManualDone = slices.Concat(plan.Target.ManualDone, a.Options.Target.ManualDone)
	return plan, ok
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

// blockedSince blocks steps for errors that earlier versions of rke-lm did not find as they planned them.
func blockedSince(f clusters.Cluster, steps []plan.Step, planned transform.Target) error {
	for i := range steps {
		s := &steps[i]
		c, err := f.Format.Open(s.Before(), f.For(planned))
		if err != nil {
			return err
		}
		if s.State == plan.Blocked {
			continue
		}
		chosen := c.Chosen()
		chosen.Before = c
		if c, err = f.Format.Open(s.After(), chosen); err != nil {
			return err
		}
		for _, found := range transform.Stopping(c.Findings(s.Stage.Name)) {
			if found.Rule == rules.NodeRename.ID || found.Rule == rules.LeaseTimingsUnsafe.ID {
				s.State, s.Findings = plan.Blocked, append(s.Findings, found)
			}
		}
	}
	return nil
}
