// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Statuses are clusters in one line each, for programs.
type Statuses struct {
	TypeMeta
	Clusters []Status `json:"clusters"`
	// Migrations are the LeaderMigrations of a Rancher.
	Migrations []MigrationStatus `json:"leaderMigrations,omitempty"`
}

// Status is one cluster in a few words.
type Status struct {
	Name     string `json:"name"`
	Format   string `json:"distro"`
	Version  string `json:"version"`
	Provider string `json:"provider"`
	// Situation is what the cluster has of cloud controllers; "" where it cannot be determined.
	Situation plan.Progress `json:"situation,omitempty"`
	Reached   string        `json:"reached"`
	// Next is the stage that is next; "" where none is left, or where only the state of the cluster is known.
	Next string `json:"next,omitempty"`
	// Gaps are for how long no manager runs the cloud controllers, by the stages that are left.
	Gaps     map[string]string `json:"gaps,omitempty"`
	Errors   int               `json:"errors"`
	Warnings int               `json:"warnings"`
	Problem  string            `json:"problem,omitempty"`
	// Migrations are the names of the LeaderMigrations that have the cluster.
	Migrations []string `json:"leaderMigrations,omitempty"`

	// Findings are those that lint has: of the files as they are, and of the cluster as a whole.
	Findings []transform.Finding `json:"-"`
	// EndState is the one that is taken unasked, and why; "" where it was chosen, or is reached.
	EndState string       `json:"-"`
	File     string       `json:"-"`
	Live     string       `json:"-"` // the name of a live cluster; "" for that of a file
	Refused  bool         `json:"-"` // the cluster, and not only a stage
	Summary  plan.Summary `json:"-"`
	planned  bool         // or else only the state of the cluster is known
}

// NewStatus is a plan in a few words.
func NewStatus(p *plan.Plan) Status {
	o := p.Summary()
	s := Status{Name: p.Cluster.TitleIn(p.Start[0].File()), Format: p.Cluster.Format, Version: p.Cluster.Version, Provider: aws.Name, Situation: p.Progress(), Reached: o.Reached, Next: o.Next, File: p.Start[0].File(), Summary: o, planned: true}
	if stages.External(p) || slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.State == plan.NotInFile }) {
		s.Provider = "external"
	}
	unclear := func(s plan.Step) bool {
		return slices.ContainsFunc(transform.Stopping(s.Findings), func(f transform.Finding) bool { return f.Rule == rules.NodeRename.ID })
	}
	if t := p.Target; t.EndState == "" && t.Taken == transform.EndStateExternal && t.HostNames.Equal() && p.Left() {
		s.EndState = fmt.Sprintf("external (host names equal the names of Nodes: %d; no Node of the cluster may be missing)", len(t.HostNames))
	} else if t.EndState == "" && t.Taken == transform.EndStateOverride && p.Left() && !slices.ContainsFunc(p.Steps, unclear) {
		s.EndState = transform.EndStateOverride + " (" + t.TakenWhy + "); --end-state changes it"
	}
	s.Gaps = map[string]string{}
	for _, step := range p.Steps {
		if step.Stage.Gap != (transform.Span{}) && !step.Past() {
			s.Gaps[step.Stage.Name] = step.Stage.Gap.String()
		}
	}
	own, unseen := p.Findings()
	s.Count(slices.Concat(own, unseen))
	return s
}

// Count adds findings.
func (s *Status) Count(findings []transform.Finding) {
	s.Findings = append(s.Findings, findings...)
	for _, f := range findings {
		switch {
		case f.Stops():
			s.Errors++
		case f.Severity == transform.Warning:
			s.Warnings++
		}
	}
}

// found is how many findings there are.
func (s Status) found() string {
	var parts []string
	for i, n := range []int{s.Errors, s.Warnings} {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", n, []string{"error", "warning"}[i], "s"[:min(n-1, 1)]))
		}
	}
	return list(parts)
}

// next is the next stage, and what keeps apply from doing it.
func (s Status) next() string {
	switch {
	case !s.planned:
		return ""
	case s.Next == "":
		return "done"
	case len(s.Summary.Blocked) > 0:
		return s.Next + " (blocked)"
	}
	return nextStage(s.Next, s.Summary.Manual)
}

// nextStage names the stage that is next.
func nextStage(name string, manual bool) string {
	if manual {
		return name + " (manual)"
	}
	return name
}

// color is that of the row.
func (s Status) color() string {
	switch {
	case s.Problem != "", len(s.Summary.Blocked) > 0:
		return red
	case s.next() == "done":
		return green
	}
	return ""
}

// column is one of the table of clusters.
type column struct {
	title string
	cell  func(Status) string
	// Some columns are not shown if no cluster has a value, or only if there is room for all.
	optional, wide bool
}

var statusColumns = []column{
	{title: "CLUSTER", cell: func(s Status) string { return s.Name }},
	{title: "DISTRO", cell: func(s Status) string { return s.Format }, wide: true},
	{title: "VERSION", cell: func(s Status) string { return s.Version }},
	{title: "PROVIDER", cell: func(s Status) string { return s.Provider }},
	{title: "SITUATION", cell: func(s Status) string { return string(s.Situation) }},
	{title: "REACHED", cell: func(s Status) string { return s.Reached }},
	{title: "NEXT", cell: Status.next, optional: true},
	{title: "BLOCKED BY", cell: func(s Status) string { return list(slices.Concat(s.Summary.Blocked, s.Summary.Later)) }, wide: true},
	{title: "RESTARTS", cell: func(s Status) string { return list(classesOf(s.Summary.Restarts)) }, wide: true},
	{title: "LEADERMIGRATION", cell: func(s Status) string { return list(s.Migrations) }, optional: true},
	{title: "FINDINGS", cell: func(s Status) string { return cmp.Or(s.Problem, s.found()) }},
	{title: "FILE", cell: func(s Status) string { return s.File }, optional: true},
}

// shortened are clusters in shorter words: without namespaces, if their names then differ, and warnings next to errors.
func shortened(clusters []Status) []Status {
	names := lists.Map(clusters, func(s Status) string { return path.Base(s.Name) })
	differ := len(lists.Distinct(names)) == len(names)
	return lists.Map(clusters, func(s Status) Status {
		if differ {
			s.Name = path.Base(s.Name)
		}
		s.Version, _, _ = strings.Cut(strings.Replace(s.Version, "-rancher", "+", 1), "+")
		switch {
		case s.Situation == plan.ProgressNone:
			s.Situation = "none"
		case strings.HasPrefix(string(s.Situation), "broken"):
			s.Situation = "broken"
		}
		if s.Errors > 0 {
			s.Warnings = 0
		}
		return s
	})
}

// classesOf names the machine classes that restart, in their order.
func classesOf(restarts []transform.Restart) []string {
	return lists.Distinct(lists.Flat(restarts, func(r transform.Restart) []string { return r.Classes }))
}

// WriteStatuses writes the table of clusters for people. Where it is too wide its cells are shorter, and then those
// columns are left out without which it fits, of those that the others nearly show. What is still too wide is cut.
func WriteStatuses(w io.Writer, p Palette, clusters []Status) {
	var shown []column
	for _, c := range statusColumns {
		has := slices.ContainsFunc(clusters, func(s Status) bool { return c.cell(s) != "" })
		if (has || !c.optional) && (p.Wide || !c.wide) {
			shown = append(shown, c)
		}
	}
	whole := slices.ContainsFunc(clusters, func(s Status) bool { return s.Problem != "" }) // the reason is the last cell
	rows, step := statusRows(shown, clusters, 0), 1
	if !slices.ContainsFunc(clusters, func(s Status) bool { return s.next() != "" }) {
		step = 2 // the stage that is reached is the only one
	}
	for left := 0; left < 1<<len(leftOut) && !p.fits(rows, whole); left += step {
		rows = statusRows(shown, shortened(clusters), left)
	}
	writeTable(w, p, whole, rows, func(i int) string { return clusters[i].color() })
}

// leftOut are columns that can be left out, the less useful ones first.
var leftOut = []string{"REACHED", "FILE", "PROVIDER"}

// statusRows are the titles of columns, and the cells of clusters, without the columns of a set of bits.
func statusRows(shown []column, clusters []Status, left int) [][]string {
	rows := make([][]string, len(clusters)+1)
	for _, c := range shown {
		if i := slices.Index(leftOut, c.title); i >= 0 && left>>i&1 == 1 {
			continue
		}
		rows[0] = append(rows[0], c.title)
		for i, s := range clusters {
			rows[i+1] = append(rows[i+1], words(c.cell(s)))
		}
	}
	return rows
}

// words returns a text on one line.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

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
