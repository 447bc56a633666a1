// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Transition takes a cluster from before a stage to after it, or back.
type Transition struct {
	Stage string
	Back  bool
	Why   string
	// From and To are the cluster's document; they are the same where nothing is edited.
	From, To *yamledit.Document
	// Before and After are the actions before the edit and after it.
	Before, After []transform.Action
	// Prepare is what people do before, and a run only shows.
	Prepare  []transform.Action
	Findings []transform.Finding // of the static rules
	Blocked  bool
	// Files are what actions name, of all stages: going back needs those of an
	// earlier one.
	Files map[string]string
	// Caution is what to know before.
	Caution string
	// Precheck is what has to hold before the transition, and Check after it.
	Precheck, Check Check
}

// Edits reports whether the transition changes the cluster's object.
func (l Transition) Edits() bool { return l.From != l.To }

// Empty reports whether there is nothing to do.
func (l Transition) Empty() bool { return !l.Edits() && len(l.Before)+len(l.After) == 0 }

// Planner leads through the stages of one cluster.
type Planner struct {
	Distro transform.Distro
	Target transform.Target
	To     string // the stage after which a rollback ends; "" for before all
}

// Forward returns the transition of a stage, as things stand in a plan that was built from
// the object of now and in what was seen of the cluster.
func (r Planner) Forward(p *transform.Plan, stage string, seen *observation.Observation) (Transition, error) {
	step, err := p.Named(stage)
	if err != nil {
		return Transition{}, err
	}
	files, err := filesOf(p, transform.PlannedStage.Files)
	if err != nil {
		return Transition{}, err
	}
	l := Transition{Stage: stage, Why: step.Stage.Why, From: p.Start[0], To: p.Start[0], Files: files, Check: r.After(stage)}
	switch {
	case r.folded(p, stage) || step.State == transform.Done || step.State == transform.NotInFile || r.past(p, stage, files, seen):
		return l, nil
	case step.Changes():
		l.To, l.Findings, l.Blocked = step.Documents[0].After, r.findings(p, stage), step.State == transform.Blocked
		l.Caution = step.Stage.Caution
	}
	l.Before, l.After = step.Stage.Before, step.Stage.After
	l.Prepare = step.Stage.Prepare.Actions
	if chart, _ := p.Step(stages.InstallCCM); stage == stages.SwitchToExternal && r.folded(p, chart.Stage.Name) {
		l.Prepare = slices.Concat(chart.Stage.Prepare.Actions, l.Prepare)
		l.Before = chart.Stage.Before // what the switch waits for is not there yet
	}
	if l.Precheck = (Check{NodesOnly: true}); l.Edits() {
		l.Precheck = r.before(p, stage)
	}
	return l, nil
}

// folded reports whether a stage is made together with the switch: without leader
// migration both managers run the cloud controllers in between.
func (r Planner) folded(p *transform.Plan, stage string) bool {
	step, _ := p.Step(stage)
	return r.Target.NoLeaderMigration && stage == stages.InstallCCM && step.Changes()
}

// findings are those of the stage, and of the one that is folded into it.
func (r Planner) findings(p *transform.Plan, stage string) []transform.Finding {
	var list []transform.Finding
	for _, s := range p.Steps {
		if s.Stage.Name == stage || stage == stages.SwitchToExternal && r.folded(p, s.Stage.Name) {
			list = append(list, s.Findings...)
		}
	}
	return list
}

// filesOf collects the files of all stages by their names.
func filesOf(p *transform.Plan, of func(transform.PlannedStage) ([]transform.File, error)) (map[string]string, error) {
	all := map[string]string{}
	for _, s := range p.Steps {
		files, err := of(s)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			all[f.Name] = f.Content
		}
	}
	return all, nil
}

// Position returns the last stage that lies behind, with none before it left to do;
// "" for none. Where the object does not tell, the cluster does.
func (r Planner) Position(p *transform.Plan, seen *observation.Observation) (string, error) {
	files, err := filesOf(p, transform.PlannedStage.Files)
	if err != nil {
		return "", err
	}
	last := ""
	for _, s := range p.Steps {
		if s.Left() {
			break
		}
		if s.State == transform.Done || r.past(p, s.Stage.Name, files, seen) {
			last = s.Stage.Name
		}
	}
	return last, nil
}

// InEffect reports whether the edit of a stage is in the object.
func (r Planner) InEffect(p *transform.Plan, stage string) (bool, error) {
	s, err := p.Named(stage)
	return err == nil && !s.Left(), err
}
