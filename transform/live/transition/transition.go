// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package transition decides how live clusters go through the stages, forward and
// backward: what comes next, and what has to hold after it; and which of many clusters
// comes next.
//
// Invariant: it uses what the cluster's object and the cluster itself show, and
// nothing that a run remembers; so a run that was killed is continued by the
// same decisions. What is next of many clusters follows from their states, and a
// [Policy] adds the time and approvals, which are passed too. No more clusters run at once
// than are allowed to, no wave starts before every cluster of the waves before it has
// ended, and after too many failures nothing starts.
package transition

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Transition takes a cluster from before a stage to after it, or back.
type Transition struct {
	// Step is what is done, with the findings of static rules. Where the stage is undone, its reason and its
	// actions are those of the undo. Where nothing is to do it has no actions, and its document stays.
	Step plan.Step
	Back bool
	// Files are what actions name, of all stages: going back needs those of an
	// earlier one.
	Files map[string]string
	// Precheck is what has to hold before the transition, and Check after it.
	Precheck, Check stages.Check
}

// From returns the cluster's document before the transition.
func (l Transition) From() *yamledit.Document { return l.Step.Documents[0].Before }

// To returns the cluster's document after the transition.
func (l Transition) To() *yamledit.Document { return l.Step.Documents[0].After }

// Edits reports whether the transition changes the cluster's object.
func (l Transition) Edits() bool { return l.From() != l.To() }

// Empty reports whether there is nothing to do.
func (l Transition) Empty() bool {
	return !l.Edits() && len(l.Step.Stage.Before)+len(l.Step.Stage.After) == 0
}

// Planner leads through the stages of one cluster.
type Planner struct {
	Format transform.Format
	Target transform.Target
	To     string // the stage after which a rollback ends; "" for before all
}

// Plan returns the transition of a stage, forward or back, as things are in a plan that was built
// from the object of now and in what was seen of the cluster. Back it fails with
// *transform.Conflict where the object does not show what was there before the stage.
func (r Planner) Plan(p *plan.Plan, stage string, back bool, seen *observed.Observation) (Transition, error) {
	step, err := p.Named(stage)
	if err != nil {
		return Transition{}, err
	}
	of := plan.Step.Files
	if back {
		of = filesAgain
	}
	files, err := filesOf(p, of)
	if err != nil {
		return Transition{}, err
	}
	l := Transition{Back: back, Files: files, Precheck: stages.Check{NodesOnly: true}}
	l.Step.Stage.Name, l.Step.Documents = stage, []plan.Revision{{Before: p.Start[0], After: p.Start[0]}}
	if back {
		return r.backward(l, p, step, seen)
	}
	return r.forward(l, p, step, seen), nil
}

func (r Planner) forward(l Transition, p *plan.Plan, step plan.Step, seen *observed.Observation) Transition {
	stage := step.Stage.Name
	l.Step.Stage.Why, l.Check = step.Stage.Why, stages.After(stage, p.Target)
	if folded(p, stage) || step.Past() || step.State == plan.NotInFile || r.past(p, stage, l.Files, seen) {
		return l
	}
	does := step.Shown()
	does.Documents = l.Step.Documents
	if step.Changes() {
		l.Precheck, does.Documents[0].After = stages.Before(stage, p.Target), step.Documents[0].After
	} else {
		does.Findings, does.Stage.Caution = nil, ""
	}
	for _, s := range slices.Backward(foldedInto(p, stage)) {
		does.Findings = slices.Concat(s.Findings, does.Findings)
		does.Stage.Prepare.Actions = slices.Concat(s.Stage.Prepare.Actions, does.Stage.Prepare.Actions)
		does.Stage.Before = slices.Concat(s.Stage.Before, does.Stage.Before)
	}
	if found := r.olderManager(p, seen); stage == stages.UpgradeKubernetes && len(found) > 0 {
		does.Findings, does.State = slices.Concat(does.Findings, found), plan.Blocked
	}
	l.Step = does
	return l
}

// together reports whether a stage is made in one edit with another one: where no leader
// migration separates two managers, both run the cloud controllers in between.
func together(t transform.Target, stage string) bool {
	return t.NoLeaderMigration && t.Situation.HasInTreeProvider() && stages.Named(stage).With != ""
}

func folded(p *plan.Plan, stage string) bool {
	step, _ := p.Step(stage)
	return together(p.Target, stage) && step.Changes()
}

// foldedInto are the steps that are made in one edit with a stage.
func foldedInto(p *plan.Plan, stage string) []plan.Step {
	return lists.Where(p.Steps, func(s plan.Step) bool { return stages.Named(s.Stage.Name).With == stage && folded(p, s.Stage.Name) })
}

// filesOf collects the files of all stages by their names.
func filesOf(p *plan.Plan, of func(plan.Step) ([]action.File, error)) (map[string]string, error) {
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

// Position returns the last stage that is done, with none before it left to do;
// "" for none. Where the object does not show, the cluster does.
func (r Planner) Position(p *plan.Plan, seen *observed.Observation) (string, error) {
	files, err := filesOf(p, plan.Step.Files)
	if err != nil {
		return "", err
	}
	last := ""
	for _, s := range p.Steps {
		if s.Left() {
			break
		}
		if s.State == plan.Done || r.past(p, s.Stage.Name, files, seen) {
			last = s.Stage.Name
		}
	}
	return last, nil
}

// InEffect reports whether the edit of a stage is in the object. The manager of a minor is upgraded after Kubernetes: if that is left, the
// plan is of the next minor.
func (r Planner) InEffect(p *plan.Plan, stage string) (bool, error) {
	s, err := p.Named(stage)
	next, has := p.Step(stages.UpgradeKubernetes)
	return err == nil && (!s.Left() || stage == stages.UpgradeCCM && has && next.Left()), err
}

// Needs returns what a run of a plan and its undo needs permission for, in addition to what every run does.
func Needs(p *plan.Plan) (needs []action.Permission) {
	for _, s := range p.Steps {
		for _, a := range slices.Concat(s.Stage.Before, s.Stage.After, s.Stage.UndoBefore, s.Stage.UndoAfter) {
			needs = append(needs, a.Needs...)
		}
	}
	return needs
}

// RollbackOrder lists the stages to undo, the last one first, down to the one
// after which the rollback ends; "" for before all.
func RollbackOrder(p *plan.Plan, to string) ([]string, error) {
	if to != "" {
		if _, err := p.Named(to); err != nil {
			return nil, err
		}
	}
	names := lists.Map(p.Steps, func(s plan.Step) string { return s.Stage.Name })
	names = names[slices.Index(names, to)+1:]
	slices.Reverse(names)
	return names, nil
}

func (r Planner) backward(l Transition, p *plan.Plan, step plan.Step, seen *observed.Observation) (Transition, error) {
	stage := step.Stage.Name
	l.Step.Stage.Why, l.Check = stages.UndoGap(p.Target, stage), stages.Undone(stage, p.Target)
	if step.Stage.Edit == nil {
		if stages.Undoable(stage, shown(p, step, l.Files, seen)) {
			l.Step.Stage.Before, l.Step.Stage.After = step.Stage.UndoBefore, step.Stage.UndoAfter
		}
		return l, nil
	}
	folds := r.foldsBack(p)
	if folds && stages.Named(stage).With == "" {
		return l, nil
	}
	steps, err := plan.Undo(r.Format, p.Start, p.Target, stage, folds)
	if err != nil || len(steps) == 0 {
		return l, err
	}
	l.Step.Documents[0].After = steps[len(steps)-1].Documents[0].After
	of := &l.Step.Stage
	of.Caution, of.Before, of.After = step.Stage.Caution, step.Stage.UndoBefore, step.Stage.UndoAfter
	return l, nil
}

// foldsBack reports whether the switch is undone together with the chart, as it
// was made: both are edits, and both are to go.
func (r Planner) foldsBack(p *plan.Plan) bool {
	return r.To == "" && slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return together(p.Target, s.Stage.Name) && s.Stage.Edit != nil })
}

// filesAgain are the files of a stage as they would be made again.
func filesAgain(s plan.Step) ([]action.File, error) {
	if s.Stage.Files == nil {
		return nil, nil
	}
	return s.Stage.Files()
}

// CheckRollback refuses a rollback that cannot be completed: where there is no
// in-tree provider any more, or where the object does not show enough.
func (r Planner) CheckRollback(p *plan.Plan, names []string, seen *observed.Observation) error {
	version := seen.Version
	if !k8s.From(version, aws.FirstWithout) {
		version = p.Cluster.Version
	}
	if err := stages.CheckUndo(p, names, version); err != nil {
		return err
	}
	last := ""
	for _, name := range names {
		if s, _ := p.Step(name); s.Stage.Edit != nil {
			last = name
		}
	}
	if last == "" {
		return nil
	}
	_, err := plan.Undo(r.Format, p.Start, r.Target, last, true)
	return err
}

// Changes reports which machines an edit changes, by their labels. A manifest that is
// applied changes no machine, and a new release all.
func (r Planner) Changes(l Transition) (func(labels map[string]string) bool, error) {
	var given [2]transform.MachineConfig
	var releases [2]string
	for i, doc := range []*yamledit.Document{l.From(), l.To()} {
		c, err := r.Format.Open(transform.Only(doc), r.Target)
		if err != nil {
			return nil, err
		}
		releases[i] = c.Identity().Version
		if given[i], err = r.Format.Live.MachineConfig(doc, r.Target); err != nil {
			return nil, err
		}
	}
	return func(labels map[string]string) bool {
		return releases[0] != releases[1] || !reflect.DeepEqual(given[0](labels), given[1](labels))
	}, nil
}

// SnapshotTaken reports whether Rancher has made the snapshot of a number. It fails
// when Rancher gave it up.
func SnapshotTaken(seen rollout.Objects, number int64) (bool, error) {
	c := seen.ControlPlane
	if c == nil || c.Snapshot.Generation != number {
		return false, nil
	}
	if c.SnapshotPhase == "Failed" {
		return false, fmt.Errorf("the snapshot of etcd failed; journalctl -u rancher-system-agent on the etcd machines shows the cause, and without --etcd-snapshot none is taken")
	}
	return c.SnapshotPhase == "Finished", nil
}

// Edit reports whether the change of a stage is in the cluster's object.
type Edit int

// NotWritten is the zero Edit. MayBeWritten is for a request without an answer.
const (
	NotWritten Edit = iota
	MayBeWritten
	Written
)

// Between reports who runs the cloud controllers of a cluster after a run that stopped
// inside of a stage: Rancher rolls a change out although the run has ended.
func Between(t transform.Target, position, stage string, edit Edit) string {
	switch edit {
	case MayBeWritten:
		return "the change of " + stage + " may be in the cluster's object, and if it is, Rancher rolls it out; before it, " + stages.LeaderAfter(position, t)
	case Written:
		return "the change of " + stage + " is in the cluster's object, and Rancher rolls it out to the machines; before it, " + stages.LeaderAfter(position, t)
	}
	return stages.LeaderAfter(position, t)
}

// TwoOwners reports whether findings say that both managers run the cloud
// controllers. Pods and leases that are about to go may say so for a moment.
func TwoOwners(findings []transform.Finding) bool { return finds(findings, "cloud-controllers-twice") }

// Permanent reports whether findings do not pass by waiting: a node that came back
// under another name stays it, and one that joined stays new.
func Permanent(findings []transform.Finding) bool {
	return finds(findings, "node-renamed") || finds(findings, "node-new")
}

func finds(findings []transform.Finding, rule string) bool {
	return slices.ContainsFunc(findings, func(f transform.Finding) bool { return f.Rule == rule && f.Stops() })
}
