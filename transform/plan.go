// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// State is how far a stage has come.
type State string

// A stage is done when its result holds or a later stage supersedes it; it is
// blocked when an error guards it.
const (
	Done    State = "done"
	Todo    State = "todo"
	Blocked State = "blocked"
)

// Plan is the stages of one cluster, applied one after another.
type Plan struct {
	Cluster Identity
	Start   *yamledit.Document
	Steps   []Step
}

// Step is one stage with its document before and after.
type Step struct {
	Stage    Stage
	State    State
	Before   *yamledit.Document
	After    *yamledit.Document
	Splices  []yamledit.Splice // Before → After
	Reverse  []yamledit.Splice // After → Before
	Edits    []Place
	Findings []Finding
}

// Place is where a stage changes its document, as the document was before.
type Place struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

// Changes reports whether the step edits the document.
func (s Step) Changes() bool { return len(s.Splices) > 0 }

// Left reports whether an edit is left to do.
func (p *Plan) Left() bool {
	for _, s := range p.Steps {
		if s.State != Done {
			return true
		}
	}
	return false
}

// Step returns the step of a stage.
func (p *Plan) Step(stage string) (Step, bool) {
	for _, s := range p.Steps {
		if s.Stage.Name == stage {
			return s, true
		}
	}
	return Step{}, false
}

// Build plans all stages of the cluster in a document. Every step was applied,
// parsed again, compared with its promise and checked by its stage; an error
// says that this cannot be done, and then there is no plan.
func Build(d Distro, doc *yamledit.Document, target Target) (*Plan, error) {
	c, err := d.Open(doc, target)
	if err != nil {
		return nil, err
	}
	p := &Plan{Cluster: c.Identity(), Start: doc}
	for i := range c.Stages() {
		step, next, err := build(d, c, i, target)
		if err != nil {
			return nil, err
		}
		p.Steps = append(p.Steps, step)
		c = next
	}
	return p, nil
}

// build applies stage i to a cluster and returns the cluster behind it.
func build(d Distro, c Cluster, i int, target Target) (Step, Cluster, error) {
	stages := c.Stages()
	step := Step{Stage: stages[i], State: Done, Before: c.Document(), After: c.Document()}
	superseded, err := supersededBy(stages, i)
	if err != nil || superseded {
		return step, c, err
	}
	edit, err := step.Stage.Edit()
	if err != nil {
		return step, nil, err
	}
	if edit.Empty() {
		return step, c, nil
	}
	for _, n := range edit.Nodes() {
		step.Edits = append(step.Edits, Place{Path: n.Path(), Line: n.Line()})
	}
	if step.After, step.Splices, err = edit.Apply(); err != nil {
		return step, nil, err
	}
	if step.Reverse, err = yamledit.Reverse(step.Before.Bytes(), step.Splices); err != nil {
		return step, nil, err
	}
	after, err := d.Open(step.After, target)
	if err != nil {
		return step, nil, err
	}
	if err := prove(step, c, after); err != nil {
		return step, nil, err
	}
	step.Findings = after.Findings(step.Stage.Name)
	step.State = Todo
	for _, f := range step.Findings {
		if f.Stops() {
			step.State = Blocked
		}
	}
	return step, after, nil
}

// prove lets the stage check its result, and requires that the result needs no
// second edit.
func prove(step Step, before, after Cluster) error {
	if err := step.Stage.Check(after); err != nil {
		return broken(before, step.Stage.Name, err.Error())
	}
	for _, s := range after.Stages() {
		if s.Name != step.Stage.Name {
			continue
		}
		if again, err := s.Edit(); err != nil || !again.Empty() {
			return broken(before, s.Name, "it would have to be applied twice")
		}
	}
	return nil
}

func broken(c Cluster, stage, what string) error {
	return c.Document().Root().Errorf(fmt.Sprintf("stage %s cannot be planned: %s", stage, what), "make this change by hand")
}

// supersededBy reports whether a later stage that leaves nothing to do for
// stage i is done.
func supersededBy(stages []Stage, i int) (bool, error) {
	for _, name := range stages[i].SupersededBy {
		for _, s := range stages[i+1:] {
			if s.Name != name {
				continue
			}
			edit, err := s.Edit()
			if err != nil {
				return false, err
			}
			if edit.Empty() {
				return true, nil
			}
		}
	}
	return false, nil
}
