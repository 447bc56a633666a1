// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// Count is what is left of a stage, or of a cluster: all verbs count the same three. A stage that
// only checks, or that happens elsewhere, counts nowhere.
type Count string

const (
	CountToDo   Count = "todo"   // an edit
	CountManual Count = "manual" // an action whose result no document shows
	CountDone   Count = "done"
)

// Counts are how many stages of a plan count as what.
type Counts struct {
	ToDo   int `json:"todo"`
	Manual int `json:"manual"`
	Done   int `json:"done"`
}

// Count is that of the cluster.
func (c Counts) Count() Count {
	switch {
	case c.ToDo > 0:
		return CountToDo
	case c.Manual > 0:
		return CountManual
	}
	return CountDone
}

// count counts the steps. A manual stage is done if that is confirmed, or if the next edit after it is.
func (p *Plan) count() {
	for i := range p.Steps {
		s := &p.Steps[i]
		edit, found := lists.Find(p.Steps[i+1:], func(s Step) bool { return s.State != ActionOnly && s.State != NotInFile && s.State != Skipped })
		passed := s.State != NotInFile && found && edit.State == Done
		switch {
		case s.Left():
			s.Count = CountToDo
		case s.Manual && !passed && !slices.Contains(p.Target.ManualDone, s.Stage.Name):
			s.Count = CountManual
		case s.State == Done || s.Manual:
			s.Count = CountDone
		}
	}
}

// manually reports whether a stage has an action whose result no document shows. The kubelets of a
// switch are changed manually, although its documents are edited.
func (p *Plan) manually(s Step) bool {
	acts := len(s.Stage.After) > 0 && !s.Stage.Uncounted
	switch {
	case s.State == NotInFile:
		return acts && !slices.Contains(p.Target.Accept, RuleNotInFile)
	case s.State == ActionOnly && acts:
		return true
	}
	return slices.ContainsFunc(p.Steps, func(o Step) bool { return slices.Contains(o.Stage.AfterManual, s.Stage.Name) })
}

// Summary is a plan in a few words: how far the documents are, and what comes next.
type Summary struct {
	Counts   Counts
	Reached  string   // the last stage in a row that is done; "" for none
	Next     string   // the stage that is next; "" where none is left
	Manual   bool     // it is manual
	Blocked  []string // the rules whose errors block the next edit
	Later    []string // those that block an edit after it, with its stage
	Restarts []transform.Restart
}

// State is how far the documents are in a word: what is left of the cluster, or Blocked.
func (o Summary) State() State {
	if len(o.Blocked) > 0 {
		return Blocked
	}
	return State(o.Counts.Count())
}

// Summary reports how far the documents of a plan are. What is not in a file ends no row of stages, and
// comes after all edits.
func (p *Plan) Summary() Summary {
	var o Summary
	edits, ended := p.Left(), false
	for _, s := range p.Steps {
		switch s.Count {
		case CountToDo:
			blocked := lists.Distinct(lists.Map(transform.Stopping(s.Findings), func(f transform.Finding) string { return f.Rule }))
			if o.Counts.ToDo++; o.Counts.ToDo == 1 {
				o.Blocked = blocked
			} else {
				o.Later = append(o.Later, lists.Map(blocked, func(rule string) string { return rule + " (" + s.Stage.Name + ")" })...)
			}
		case CountManual:
			if o.Counts.Manual++; edits && s.State == NotInFile {
				continue
			}
		case CountDone:
			if o.Counts.Done++; !ended {
				o.Reached = s.Stage.Name
			}
			continue
		default:
			continue
		}
		if o.Next == "" {
			o.Next, o.Manual, o.Restarts = s.Stage.Name, s.Count == CountManual, s.Restarts()
		}
		ended = ended || s.State != NotInFile
	}
	return o
}

// Progress is a situation in the words of a table: what a cluster has of cloud controllers,
// and whether its migration has begun.
type Progress string

const (
	ProgressInTree    Progress = "in-tree"
	ProgressMigrating Progress = "migrating"
	ProgressExternal  Progress = "external"
	ProgressNone      Progress = "no cloud provider"
)

// ProgressBroken is that of a cluster whose components do not start on a release.
func ProgressBroken(version string) Progress {
	return Progress("broken: " + aws.Name + " at " + semver.MajorMinor(version)[1:])
}

// Progress reports how far the documents of a plan are.
func (p *Plan) Progress() Progress {
	begun := false
	for _, s := range p.Steps {
		begun = begun || s.Stage.Edit != nil && s.Past()
	}
	switch {
	case p.Target.Situation == transform.Broken:
		return ProgressBroken(p.Cluster.Version)
	case !p.Left(), p.Target.Upgrades():
		return ProgressExternal
	case begun, p.Target.Situation == transform.External, p.Target.Situation == transform.Rescued:
		return ProgressMigrating
	case p.Target.Situation == transform.NamesOnly:
		return ProgressNone
	}
	return ProgressInTree
}
