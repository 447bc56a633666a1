// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// Summary is many plans, a line for each, with totals and what to do next.
type Summary struct {
	Rows    []Status
	Refused int    // documents that have no plan
	Command string // what to type next; "" for nothing
	When    string // it can be run; "" for now
	Decide  string // what to type where a cluster is blocked
	Check   string // what to type where all stages are done
	Runbook string // of the first cluster that continues; "" for none
}

// Write writes the table, the totals and the next command.
func (s Summary) Write(w io.Writer, p Palette) {
	WriteStatuses(w, p, s.Rows)
	fmt.Fprintln(w, s.totals())
	if later := s.later(p.Wide); later != "" {
		fmt.Fprintln(w, p.Wrap(later, ""))
	}
	if s.Command != "" && s.Decide != "" {
		fmt.Fprintf(w, "blocked: %s shows why\n", s.Decide)
	}
	if taken := lists.Where(s.Rows, func(r Status) bool { return r.EndState != "" }); len(taken) > 0 {
		fmt.Fprintln(w, p.Wrap(fmt.Sprintf("end state (clusters: %d): %s", len(taken), taken[0].EndState), ""))
	}
	s.WriteNext(w, p)
}

// WriteNext writes where the steps around the next command are, and the command.
func (s Summary) WriteNext(w io.Writer, p Palette) {
	switch {
	case s.Runbook != "" && len(s.Rows) > 1:
		fmt.Fprintf(w, "runbooks: one for each cluster, such as %s\n", s.Runbook)
	case s.Runbook != "":
		fmt.Fprintf(w, "runbook: %s\n", s.Runbook)
	}
	if when, next := s.next(); next != "" {
		fmt.Fprintf(w, "%snext: %s\n", when, p.paint(bold, next))
	}
}

// next is the next command, and a line on when it can be run; "" for nothing.
func (s Summary) next() (when, command string) {
	if command = cmp.Or(s.Command, s.Decide); command == "" && len(s.Rows) == 1 && s.Rows[0].Next == "" {
		return "all stages are done\n", s.Check
	}
	if s.When != "" {
		when = s.When + ":\n"
	}
	return when, command
}

// totals counts the clusters by how far they are.
func (s Summary) totals() string {
	of, blocked := map[plan.Count]int{}, 0
	for _, r := range s.Rows {
		of[r.Summary.Counts.Count()]++
		blocked += min(len(r.Summary.Blocked), 1)
	}
	text := fmt.Sprintf("clusters: %d; to do: %d", len(s.Rows), of[plan.CountToDo])
	if blocked > 0 {
		text += fmt.Sprintf(" (blocked: %d)", blocked)
	}
	text += fmt.Sprintf(", manual: %d, done: %d", of[plan.CountManual], of[plan.CountDone])
	if s.Refused > 0 {
		text += fmt.Sprintf("; refused: %d", s.Refused)
	}
	return text
}

// later counts the clusters that are blocked at a later stage; the wide table shows which.
func (s Summary) later(wide bool) string {
	number, by := 0, []string{}
	for _, r := range s.Rows {
		number += min(len(r.Summary.Later), 1)
		by = append(by, r.Summary.Later...)
	}
	if number == 0 || wide {
		return ""
	}
	return fmt.Sprintf("blocked at a later stage (clusters: %d; -o wide shows which): %s", number, list(lists.Distinct(by)))
}
