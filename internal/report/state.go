// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// Kind is how a stage is done.
type Kind string

// The kinds of stages.
const (
	Edit   Kind = "edit"   // of a document
	Manual Kind = "manual" // by commands; migrate runs them
	Check  Kind = "check"  // nothing of the migration depends on it
)

func kindOf(s plan.Step) Kind {
	switch {
	case s.Stage.Edit != nil:
		return Edit
	case s.Stage.Uncounted:
		return Check
	}
	return Manual
}

// Word is the state of the stage for people.
func (s Stage) Word() string {
	switch {
	case s.State == plan.ActionOnly && (s.past || len(s.Actions) == 0):
		return "skipped"
	case s.State == plan.ActionOnly:
		return string(s.Kind)
	case s.State == plan.NotInFile: // accepted ones count nowhere
		return cmp.Or(string(s.Count), "skipped")
	}
	return word(s.State)
}

// word is a state for people.
func word(s plan.State) string {
	if s == plan.Todo {
		return "to do"
	}
	return string(s)
}

// open reports whether there is something to show of the stage: it is neither done nor skipped
// for good, and is no manual part of a migration that is complete.
func (s Stage) open() bool {
	return s.State != plan.Done && s.State != plan.Skipped && !s.past
}

// Left reports whether its edit is left to do.
func (s Stage) Left() bool { return s.State == plan.Todo || s.State == plan.Blocked }

// processes are those that restart, without what restarts inside of them.
func (s Stage) processes() (names []string) {
	for _, r := range s.Restarts {
		process, _, _ := strings.Cut(r.Process, " with ")
		names = append(names, strings.Split(process, ", ")...)
	}
	return lists.Distinct(names)
}

// effect is the sentence on what the stage restarts; "" for one that edits nothing. For how
// long no manager runs the cloud controllers is in its reason.
func (s Stage) effect() string {
	switch {
	case s.Kind != Edit || !s.Left():
		return ""
	case len(s.Restarts) == 0:
		return "Restarts nothing on the machines."
	}
	return "Restarts " + strings.Join(lists.Map(s.Restarts, func(r transform.Restart) string {
		return fmt.Sprintf("%s on %s (%s)", r.Process, list(r.Classes), r.Order)
	}), "; then ") + "."
}
