// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"

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
	errs = append(errs, stepsFollowEachOther(o))
	if o.kind.end != nil {
		errs = append(errs, o.kind.end(o))
	}
	for i, s := range o.Steps {
		if !s.Changes() {
			continue
		}
		for _, property := range []func(*outcome, int) error{splicesGoForwardAndBack, applyingAgainChangesNothing, onlyPromisedValuesDiffer} {
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
	back, failed := yamledit.Apply(s.After()[0].Bytes(), s.Documents[0].Reverse)
	switch {
	case err != nil || failed != nil:
		return errors.Join(err, failed)
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
	again, err := plan.Build(o.kind.format, transform.Only(doc), o.Target)
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
