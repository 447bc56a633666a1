// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// outcome is a plan with the values of its documents, read without yamledit.
type outcome struct {
	*plan.Plan
	kind    corpusKind
	release string         // that the cluster was moved to
	values  []any          // before each step, and after the last
	changes [][]difference // of each step
}

func (k corpusKind) outcomeOf(plan *plan.Plan, release string) (*outcome, error) {
	value, err := valueOf(plan.Start[0].Bytes())
	o := &outcome{Plan: plan, kind: k, release: release, values: []any{value}}
	for i, s := range plan.Steps {
		if s.Changes() && err == nil {
			value, err = valueOf(s.After()[0].Bytes())
		}
		o.values = append(o.values, value)
		o.changes = append(o.changes, differences(o.values[i], value))
	}
	return o, err
}

// last returns the document after all stages.
func (o *outcome) last() *yamledit.Document { return o.Steps[len(o.Steps)-1].Documents[0].After }

// check holds a plan to what plans promise.
func (o *outcome) check() (errs []error) {
	for _, property := range append([]func(*outcome) error{stepsFollowEachOther}, o.kind.ends...) {
		errs = append(errs, property(o))
	}
	for i, s := range o.Steps {
		if !s.Changes() {
			continue
		}
		for _, property := range append([]func(*outcome, int) error{splicesGoForwardAndBack, applyingAgainChangesNothing, onlyPromisedValuesDiffer, commentsAreKept}, o.kind.steps...) {
			if err := property(o, i); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.Stage.Name, err))
			}
		}
	}
	return errs
}

// stepsFollowEachOther wants each step to start where the one before it ends, so that with each splice and its reverse all of
// them lead to the end and back.
func stepsFollowEachOther(o *outcome) error {
	doc := o.Start[0]
	for _, s := range o.Steps {
		if s.Documents[0].Before != doc {
			return fmt.Errorf("%s does not start where the step before it ends", s.Stage.Name)
		}
		if !s.Changes() && !bytes.Equal(s.Before()[0].Bytes(), s.After()[0].Bytes()) {
			return fmt.Errorf("%s changes bytes without a splice", s.Stage.Name)
		}
		doc = s.Documents[0].After
	}
	return nil
}

func splicesGoForwardAndBack(o *outcome, i int) error {
	s := o.Steps[i]
	applied, err := yamledit.Apply(s.Before()[0].Bytes(), s.Documents[0].Splices)
	if err != nil {
		return err
	}
	back, err := yamledit.Apply(s.After()[0].Bytes(), s.Documents[0].Reverse)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(applied, s.After()[0].Bytes()):
		return errors.New("the splices do not lead to the document after the stage")
	case !bytes.Equal(back, s.Before()[0].Bytes()):
		return errors.New("the reverse does not lead to the document before the stage")
	}
	return nil
}

// applyingAgainChangesNothing plans from the bytes after a stage: all up to it
// is done, and the rest ends in the same bytes.
func applyingAgainChangesNothing(o *outcome, i int) error {
	doc, err := transform.Parse(o.Steps[i].Documents[0].After.Chunk())
	if err != nil {
		return fmt.Errorf("the result does not parse: %w", err)
	}
	again, err := plan.Build(o.kind.distro, transform.Only(doc), o.Target)
	if err != nil {
		return fmt.Errorf("the result cannot be planned: %w", err)
	}
	for _, s := range again.Steps[:i+1] {
		if s.Left() || s.Changes() {
			return fmt.Errorf("planned again, %s is %s with %d splices", s.Stage.Name, s.State, len(s.Documents[0].Splices))
		}
	}
	if !bytes.Equal((&outcome{Plan: again}).last().Bytes(), o.last().Bytes()) {
		return errors.New("planned again, the last stage ends in other bytes")
	}
	return nil
}

// theSavedPlanGoesForwardAndBack applies all stages as the plan was saved, and takes
// them back.
func theSavedPlanGoesForwardAndBack(o *outcome) error {
	text, err := json.Marshal(o.Save(""))
	if err != nil {
		return err
	}
	var saved plan.Saved
	if err := json.Unmarshal(text, &saved); err != nil {
		return err
	}
	edits := slices.DeleteFunc(slices.Clone(o.Steps), func(s plan.Step) bool { return !s.Changes() })
	if len(edits) == 0 {
		return nil
	}
	first, last := edits[0].Stage.Name, edits[len(edits)-1].Stage.Name
	opened, err := saved.Open(o.Start)
	if err != nil {
		return err
	}
	applied, err := opened.Choose(plan.Choice{Stage: last, Through: true})
	if err != nil || !bytes.Equal(applied[len(applied)-1].After()[0].Bytes(), o.last().Bytes()) {
		return fmt.Errorf("the saved plan ends in other bytes (%v)", err)
	}
	end, err := transform.Parse(o.last().Chunk())
	if err != nil {
		return err
	}
	back, err := saved.Undo(transform.Only(end), first, true)
	if err != nil || !bytes.Equal(back[len(back)-1].After()[0].Bytes(), o.Start[0].Bytes()) {
		return fmt.Errorf("the saved plan undoes to other bytes (%v)", err)
	}
	return nil
}
