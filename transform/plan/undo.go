// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Undo plans the reverse of a stage from the documents alone, and with through
// the reverse of every later stage before it, the last one first. The steps lead
// from the document as it is to the one without the stage; there are none when
// nothing of the stage is in it.
//
// Every step is proven: applying the stage to its result gives a tree equal to
// the one that was undone (an object of Rancher: the same to Rancher), and the stage's own check holds between the two, for
// every machine class. A *Conflict says that a later stage comes first, or that
// the document does not show what was there before the stage.
func Undo(d transform.Format, docs []*yamledit.Document, target transform.Target, stage string, through bool) ([]Step, error) {
	c, err := open(d, docs, target)
	if err != nil {
		return nil, err
	}
	target = c.Chosen()
	if s, found := stageOf(c.stages, stage); found && s.Permanent {
		return nil, &transform.Conflict{At: c.Documents()[0].Root().Errorf("stage "+stage+" cannot be undone", strings.TrimSuffix(s.Caution, "."))}
	}
	var steps []Step
	for {
		name, err := lastInEffect(c.stages, stage)
		switch {
		case err != nil:
			return nil, err
		case name == "":
			return steps, nil
		case name != stage && !through:
			return nil, comesAfter(c.Documents()[0].File(), name, stage)
		}
		step, before, err := undo(d, c, name, target)
		if err != nil {
			return nil, err
		}
		steps, c = append(steps, step), before
	}
}

// lastInEffect returns the last stage, from the given one on, of which anything
// is in the document, or "".
func lastInEffect(stages []transform.Listed, from string) (string, error) {
	if _, found := stageOf(stages, from); !found {
		return "", notAmong(from)
	}
	for _, s := range slices.Backward(stages) {
		if undo := s.Stage().Undo; undo != nil {
			// An error says that there is something, which cannot be undone.
			if edit, err := undo(); err != nil || !edit.Empty() {
				return s.Name, nil
			}
		}
		if s.Name == from {
			break
		}
	}
	return "", nil
}

// undo takes one stage out of a cluster and returns the cluster without it.
func undo(d transform.Format, c *opened, name string, target transform.Target) (Step, *opened, error) {
	s, _ := stageOf(c.stages, name)
	step := Step{Stage: s, State: Done}
	edit, err := s.Undo()
	if err != nil {
		return step, nil, err
	}
	if err := uncommented(edit, target); err != nil {
		return step, nil, err
	}
	if step.Documents, err = revise(c.Documents(), edit); err != nil {
		return step, nil, err
	}
	before, err := open(d, step.After(), target)
	if err != nil {
		return step, nil, err
	}
	if err := proveUndo(d, before, c, name); err != nil {
		return step, nil, transform.Lost(c.Documents()[0].Root(), fmt.Sprintf("stage %s cannot be undone from the document alone: %s", name, err))
	}
	return step, before, nil
}

// proveUndo requires that the stage leads from the one cluster to the other, and
// that nothing more is left of it.
func proveUndo(d transform.Format, before, after *opened, name string) error {
	s, found := stageOf(before.stages, name)
	if !found {
		return fmt.Errorf("the stage would be removed")
	}
	if left, err := s.Undo(); err != nil || !left.Empty() {
		return fmt.Errorf("it would have to be undone twice")
	}
	edit, err := s.Edit()
	if err != nil {
		return err
	}
	again, err := revise(before.Documents(), edit)
	if err != nil {
		return err
	}
	for i, doc := range after.Documents() {
		if !same(d, doc, again[i].After) {
			return fmt.Errorf("applying it again would not restore the current document")
		}
	}
	return s.Check(after.Cluster)
}

// same compares a document with another version of it: an object as Rancher does,
// a file of people by its tree.
func same(d transform.Format, doc, other *yamledit.Document) bool {
	a, b := other.Root().Value(), doc.Root().Value()
	if d.IsObject != nil && d.IsObject(doc) {
		return d.Alike(a, b)
	}
	return yamledit.Same(a, b)
}

func stageOf(stages []transform.Listed, name string) (transform.Stage, bool) {
	s, found := lists.Find(stages, func(s transform.Listed) bool { return s.Name == name })
	if !found {
		return transform.Stage{}, false
	}
	return s.Stage(), true
}
