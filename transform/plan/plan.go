// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan is the engine of all formats: it applies the stages of a cluster one after another to its documents,
// chooses among them, undoes them, and keeps them for a later run. Every step was proven before anything gets it:
// the result is parsed again, compared with its promise and checked by its stage.
package plan

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// State is how far a stage has come.
type State string

// A stage is done when its result holds or a later stage supersedes it; it is
// blocked by an error until it is corrected or accepted. A document does not show how far a stage of
// actions alone has come, nor one whose result may have come to the cluster without
// the document. Of one that was skipped for good nothing is in the document, and a later
// one leaves no use for it.
const (
	Done       State = "done"
	Todo       State = "todo"
	Blocked    State = "blocked"
	ActionOnly State = "action"
	NotInFile  State = "not-in-file"
	Skipped    State = "skipped"
)

// Plan is the stages of one cluster, applied one after another.
type Plan struct {
	Cluster transform.Identity
	Target  transform.Target
	Start   []*yamledit.Document // the one that names the cluster first
	Steps   []Step

	cut bool // later stages were not planned

	findings func() (own, unseen []transform.Finding) // nil for a saved plan
	format   transform.Format
}

// Step is one stage with its documents before and after.
type Step struct {
	Stage     transform.Stage
	State     State
	Manual    bool // it has an action whose result no document shows
	Count     Count
	Documents []Revision // of the cluster, in their order
	Edits     []Place
	Findings  []transform.Finding

	before, result *opened // around the stage, where it edits a document
}

// Revision is a document before a stage and after it. That of a saved plan has their
// SHA-256 sums in their place, which are equal where the stage does not edit it.
type Revision struct {
	Before, After *yamledit.Document `json:"-"`
	BeforeSum     string             `json:"before"`
	AfterSum      string             `json:"after"`
	Splices       []yamledit.Splice  `json:"splices"` // Before → After; none where the stage does not edit it
	Reverse       []yamledit.Splice  `json:"reverse"` // After → Before
}

// Before returns the documents before the stage.
func (s Step) Before() []*yamledit.Document {
	return lists.Map(s.Documents, func(r Revision) *yamledit.Document { return r.Before })
}

// After returns the documents after the stage.
func (s Step) After() []*yamledit.Document {
	return lists.Map(s.Documents, func(r Revision) *yamledit.Document { return r.After })
}

// Files returns what a person needs for the stage in addition to the document.
func (s Step) Files() ([]action.File, error) {
	stage := s.Stage
	switch {
	case s.result != nil:
		stage, _ = stageOf(s.result.stages, s.Stage.Name)
	case s.State != ActionOnly && s.State != NotInFile:
		return nil, nil
	}
	if stage.Files == nil {
		return nil, nil
	}
	return stage.Files()
}

// Prepared returns the files that the commands before the stage name.
func (s Step) Prepared() []action.File { return lists.If(!s.Past(), s.Stage.Prepare.Files...) }

// Place is where a stage changes a document. The line is that of the file as it
// is, before any stage.
type Place struct {
	File string `json:"file,omitempty"` // where the cluster has several documents
	Path string `json:"path"`
	Line int    `json:"line"`
}

// Changes reports whether the stage edits the document.
func (r Revision) Changes() bool { return len(r.Splices) > 0 }

// Changes reports whether the step edits a document.
func (s Step) Changes() bool { return slices.ContainsFunc(s.Documents, Revision.Changes) }

// Shown is the step with what is shown of it alone: its documents, and the clusters from which it was planned, take much
// more memory.
func (s Step) Shown() Step {
	of := s.Stage
	return Step{
		Stage: transform.Stage{Name: of.Name, Why: of.Why, Caution: of.Caution, Prepare: of.Prepare, Before: of.Before, After: of.After, Verify: of.Verify},
		State: s.State, Manual: s.Manual, Findings: s.Findings,
	}
}

// Left reports whether the stage's edit is left to do.
func (s Step) Left() bool { return s.State == Todo || s.State == Blocked }

// Past reports whether the stage is done, or was skipped for good.
func (s Step) Past() bool { return s.State == Done || s.State == Skipped }

// Delivery reports how a document of the plan reaches the cluster, once it is in a file.
func (p *Plan) Delivery(doc *yamledit.Document, file string) transform.Delivery {
	return p.format.Deliver(doc, file)
}

// Left reports whether an edit is left to do.
func (p *Plan) Left() bool { return slices.ContainsFunc(p.Steps, Step.Left) }

// RuleNotInFile is for an external cluster whose cloud-controller-manager the file does not show.
const RuleNotInFile = "ccm-not-in-file"

// Step returns the step of a stage.
func (p *Plan) Step(stage string) (Step, bool) {
	return lists.Find(p.Steps, func(s Step) bool { return s.Stage.Name == stage })
}

// Findings returns those in the documents as they are, and those about documents that were not given.
func (p *Plan) Findings() (own, unseen []transform.Finding) {
	return p.findings()
}

// Build plans all stages of the cluster in its documents. Every step was applied,
// parsed again, compared with its promise and checked by its stage; an error
// says that this cannot be done, and then there is no plan.
func Build(d transform.Format, docs []*yamledit.Document, target transform.Target) (*Plan, error) {
	return BuildFor(d, docs, target, Choice{})
}

// BuildFor plans the stages that a choice needs, as Build does: up to its own, or
// to the first that is not done. A choice of no stage needs all. Of later stages
// only the edits are computed, so that no migration begins that is known to get stuck;
// what they do is applied and proven when they are reached.
func BuildFor(d transform.Format, docs []*yamledit.Document, target transform.Target, choice Choice) (*Plan, error) {
	c, err := open(d, docs, target)
	if err != nil {
		return nil, err
	}
	target = c.Chosen()
	p := &Plan{Cluster: c.Identity(), Target: target, Start: c.Documents(), format: d}
	start := c
	p.findings = sync.OnceValues(func() (own, unseen []transform.Finding) { return transform.Unseen(d, start.Findings("")) })
	var made revisions
	for i := range c.stages {
		step, next, err := build(d, c, i, target, choice, made)
		if err != nil {
			return nil, err
		}
		if step.Changes() {
			made = append(made, step.Documents)
		}
		p.Steps = append(p.Steps, step)
		if later := next.stages[i+1:]; choice.ends(step) && slices.ContainsFunc(later, edits) && canContinue(later) {
			p.cut = true
			break
		}
		c = next
	}
	for i := range p.Steps {
		p.Steps[i].Manual = p.manually(p.Steps[i])
	}
	p.count()
	return p, nil
}

// edits reports whether a stage may change a document; the others cost nothing to
// plan.
func edits(s transform.Listed) bool { return s.Stage().Edit != nil }

// canContinue reports whether no stage refuses its edit as things are. If one does,
// the plan of all stages tells whether that holds and why.
func canContinue(later []transform.Listed) bool {
	return !slices.ContainsFunc(later, func(l transform.Listed) bool {
		s := l.Stage()
		if s.Edit == nil || s.NotInFile != nil && s.NotInFile() {
			return false
		}
		_, err := s.Edit()
		return err != nil
	})
}

// build applies stage i to a cluster and returns the cluster after it. The revisions
// made so far lead from the files to the cluster.
func build(d transform.Format, c *opened, i int, target transform.Target, choice Choice, made revisions) (Step, *opened, error) {
	step := Step{Stage: c.stages[i].Stage(), Documents: unchanged(c.Documents())}
	var edit *yamledit.Edit
	var err error
	step.State, edit, err = c.evaluate(i, choice)
	if step.State == NotInFile {
		own, _ := transform.Unseen(d, c.Findings(step.Stage.Name))
		own = slices.DeleteFunc(own, func(f transform.Finding) bool { return f.Rule != RuleNotInFile })
		step.Findings = made.findings(c.Documents(), own)
	}
	if edit == nil || err != nil {
		return step, c, err
	}
	step.Edits = made.places(c.Documents(), edit)
	notes := made.findings(c.Documents(), commentNotes(edit))
	if step.Documents, err = revise(c.Documents(), edit); err != nil {
		return step, nil, err
	}
	target.Before = c.Cluster
	after, err := open(d, step.After(), target)
	if err != nil {
		return step, nil, err
	}
	step.before, step.result = c, after
	if err := prove(step, c, after); err != nil {
		return step, nil, err
	}
	made = append(made[:len(made):len(made)], step.Documents)
	step.Findings = append(made.findings(after.Documents(), after.Findings(step.Stage.Name)), notes...)
	step.State = Todo
	if slices.ContainsFunc(step.Findings, transform.Finding.Stops) {
		step.State = Blocked
	}
	return step, after, nil
}

// prove lets the stage check its result, and requires that the result needs no
// second edit.
func prove(step Step, before, after *opened) error {
	if err := step.Stage.Check(after.Cluster); err != nil {
		return broken(before, step.Stage.Name, err.Error())
	}
	if s, found := stageOf(after.stages, step.Stage.Name); found {
		if again, err := s.Edit(); err != nil || !again.Empty() {
			return broken(before, s.Name, "it would have to be applied twice")
		}
	}
	return nil
}

func broken(c transform.Cluster, stage, what string) error {
	return c.Documents()[0].Root().Errorf(fmt.Sprintf("stage %s cannot be planned: %s", stage, what), "make this change manually")
}

// Restarts returns what the edit of the step restarts once it is rolled out.
func (s Step) Restarts() []transform.Restart {
	if s.result == nil {
		return nil
	}
	return s.before.Restarts(s.result.Cluster)
}

// Perform returns the documents of a cluster after some of its stages alone, in their
// order: what a change has that performs these stages and nothing else.
func Perform(d transform.Format, docs []*yamledit.Document, target transform.Target, names []string) ([]*yamledit.Document, error) {
	c, err := d.Open(docs, target)
	if err != nil {
		return nil, err
	}
	target = c.Chosen()
	for _, name := range names {
		s, found := stageOf(c.Stages(), name)
		if !found {
			return nil, notAmong(name)
		}
		edit, err := s.Edit()
		if err != nil {
			return nil, err
		}
		step := Step{Stage: s}
		if step.Documents, err = revise(c.Documents(), edit); err != nil {
			return nil, err
		}
		if c, err = d.Open(step.After(), target); err != nil {
			return nil, err
		}
	}
	return c.Documents(), nil
}
