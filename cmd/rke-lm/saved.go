// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/planfolder"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// savedPlans are those of a folder that plan --out wrote.
type savedPlans struct {
	dir   string
	plans []transform.Saved
}

var errNotPlanned = errors.New("not in the plan")

func (s *savedPlans) given() bool { return s.dir != "" }

func (s *savedPlans) read() (err error) {
	if s.given() {
		s.plans, err = planfolder.Read(s.dir)
	}
	return err
}

// checkNoChoice refuses migration options on the command line: a saved plan holds
// the choices that it was made with.
func (a *applyOptions) checkNoChoice(flags *pflag.FlagSet) error {
	var err error
	var o options
	choice := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.targetFlags(choice)
	choice.VisitAll(func(f *pflag.Flag) {
		if flags.Changed(f.Name) && f.Name != manualDone && !a.configured[f.Name] {
			err = fmt.Errorf("--%s cannot be used with --plan, which has the choices of the saved plan; remove it, or plan again with --out", f.Name)
		}
	})
	return err
}

// savedFileSteps takes the document of a cluster as far as its saved plan says.
func (a *applyOptions) savedFileSteps(f clusters.Cluster) ([]fileStep, []transform.Manual, error) {
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
		if a.undo == "" {
			t.blocked, t.findings = s.Stage.State == transform.Blocked, s.Stage.Findings
			if err := renames(f.Distro, before, t.after, f.For(plan.Target), &t); err != nil {
				return nil, nil, err
			}
		}
		before = t.after
		fileSteps = append(fileSteps, t)
	}
	if a.undo != "" {
		return fileSteps, nil, nil
	}
	return fileSteps, plan.Passed(steps, a.choice), nil
}

// picked is the saved plan of a cluster, with the manual stages that are confirmed since.
func (a *applyOptions) picked(f clusters.Cluster) (transform.Saved, bool) {
	plan, ok := transform.Pick(a.saved.plans, f.Distro.Identify(f.Docs[0]), f.Docs, a.undo != "")
	plan.Target.ManualDone = slices.Concat(plan.Target.ManualDone, a.choices.ManualDone)
	return plan, ok
}

func (a *applyOptions) savedSteps(plan transform.Saved, docs []*yamledit.Document) ([]transform.SavedStep, error) {
	if a.undo != "" {
		return plan.Back(docs, a.undo, a.choice.Through)
	}
	return plan.Forward(docs, a.choice)
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
