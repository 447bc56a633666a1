// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/shell"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Manual is a stage that someone does by hand, as people read it.
type Manual struct {
	Stage string
	Left  bool // it counts; else it only checks
	Steps []action.Action
	Check []action.Action
}

// ManualStagePending means that a stage was not applied, because another one comes first
// that is done by hand and does not show in the file.
type ManualStagePending struct {
	Manual
	Alone bool // no edit is left
	At    *yamledit.Error
}

func (e *ManualStagePending) Error() string { return e.At.Error() }

// ExitCode is that of a stage that is left to do.
func (e *ManualStagePending) ExitCode() exitcode.Code { return exitcode.Found }

// Unwrap gives access to the place.
func (e *ManualStagePending) Unwrap() error { return e.At }

// manuals are the stages of a plan, for what is done by hand among them.
type manuals []SavedStage

func (m manuals) of(name string) Manual {
	s, _ := lists.Find(m, func(s SavedStage) bool { return s.Name == name })
	return Manual{name, s.Manual, s.Steps, s.Check}
}

// first fails with *ManualStagePending where a choice that picks stages by itself would
// apply one after a manual one that is not confirmed, or where only such ones are left. A stage
// that errors block is not applied anyway.
func (m manuals) first(file string, chosen []string, c Choice, confirmed []string) error {
	if !c.Next && !c.Through {
		return nil
	}
	list := m.counted()
	for i, s := range m {
		if countOf(list, i, confirmed) != CountManual {
			continue
		}
		what, do := " is left", "do it manually, check it, and confirm it with --manual-done "+s.Name
		if s.State == NotInFile {
			do = shell.Line("rke-lm plan --stage %s", s.Name) + " shows what to check; if a manager runs, accept it with --accept " + RuleNotInFile
		}
		after := slices.IndexFunc(m[i+1:], func(s SavedStage) bool { return s.State != Blocked && slices.Contains(chosen, s.Name) })
		switch {
		case s.State != NotInFile && after >= 0:
			what = " comes before " + m[i+1+after].Name
		case !c.Next || len(chosen) > 0:
			continue
		}
		return &ManualStagePending{m.of(s.Name), len(chosen) == 0, &yamledit.Error{File: file, What: s.Name + what + ", and the file does not show whether it is done", Do: do}}
	}
	return nil
}

func (m manuals) counted() []counted {
	return lists.Map(m, func(s SavedStage) counted { return counted{s.Name, s.State, s.Manual} })
}

// passed lists the stages done by hand that a choice passes between the chosen ones, and
// after the last edit of all, where these are all stages. Those that were done are left
// out.
func (m manuals) passed(chosen []string, c Choice, all bool, confirmed []string) []Manual {
	if len(chosen) == 0 || !c.Next && !c.Through {
		return nil
	}
	var out, since []Manual
	last := false // the last edit so far was chosen
	for _, s := range m {
		switch {
		case s.State == ActionOnly && len(s.Steps) > 0 && !slices.Contains(confirmed, s.Name):
			since = append(since, m.of(s.Name))
		case s.State == ActionOnly || s.State == NotInFile:
		default:
			if last = slices.Contains(chosen, s.Name); last {
				out = append(out, since...)
			}
			since = nil
		}
	}
	if last && all {
		out = append(out, since...)
	}
	return out
}

// Passed lists what someone has to do by hand around the chosen steps.
func (p *Plan) Passed(chosen []PlannedStage, c Choice) []Manual {
	return p.manuals().passed(namesOf(chosen), c, !p.cut, p.Target.ManualDone)
}

func namesOf(steps []PlannedStage) []string {
	return lists.Map(steps, func(s PlannedStage) string { return s.Stage.Name })
}

func (p *Plan) manuals() manuals { return lists.Map(p.Steps, p.manual) }

// manual is a step as a saved plan keeps it, for what is done by hand.
func (p *Plan) manual(s PlannedStage) SavedStage {
	kept := SavedStage{Name: s.Stage.Name, State: s.State, Caution: s.Stage.Caution, Manual: p.manually(s)}
	if s.State == ActionOnly || kept.Manual {
		kept.Steps, kept.Check = s.Stage.After, s.Stage.Verify
	}
	return kept
}

// Passed lists what someone has to do by hand around the steps.
func (s Saved) Passed(steps []SavedStep, c Choice) []Manual {
	return manuals(s.Stages).passed(savedNames(steps), c, true, s.Target.ManualDone)
}

func savedNames(steps []SavedStep) []string {
	return lists.Map(steps, func(s SavedStep) string { return s.Stage.Name })
}
