// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// APIVersion is that of everything written for programs.
const APIVersion = "rke-lm/v1"

// TypeMeta begins everything written for programs.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Type is the beginning of what has a kind.
func Type(kind string) TypeMeta { return TypeMeta{APIVersion, kind} }

// Plans is the output of plan for programs; its fields are documented in
// docs/json.md.
type Plans struct {
	TypeMeta
	Clusters []Plan `json:"clusters"`
	// Findings are about files in forms that are not read.
	Findings []transform.Finding `json:"findings,omitempty"`
	Errors   []Problem           `json:"errors"`
}

// Plan is one cluster's plan.
type Plan struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Format    string `json:"distro"`
	Version   string `json:"version"`
	Source    Source `json:"source"`
	SHA256    string `json:"sha256"`
	// Sources are those of all documents, where the cluster has several; Source and
	// SHA256 are those of the first.
	Sources []DocumentSource `json:"sources,omitempty"`
	// Findings are about a live cluster as a whole: they stop every change of it.
	Findings []transform.Finding `json:"findings,omitempty"`
	Stages   []Stage             `json:"stages"`
	// Counts are how many stages are left, and how; nil where one stage alone is planned.
	Counts *plan.Counts `json:"counts,omitempty"`

	Status Status `json:"-"`
}

// Source is where a cluster was found.
type Source struct {
	File     string `json:"file"`
	Document int    `json:"document"`       // 0-based
	Item     *int   `json:"item,omitempty"` // of a list of objects, 0-based
	Line     int    `json:"line"`
}

// DocumentSource is a document of a cluster that has several.
type DocumentSource struct {
	Source
	SHA256 string `json:"sha256"`
}

// SourceOf reports where a document was found.
func SourceOf(d *yamledit.Document) Source {
	return Source{File: d.File(), Document: d.Chunk().Index, Item: d.Chunk().ItemIndex(), Line: d.Root().Line()}
}

// Stage is one stage of a plan.
type Stage struct {
	number   int                 // in the plan, from 1 on
	Name     string              `json:"name"`
	State    plan.State          `json:"state"`
	Count    plan.Count          `json:"count,omitempty"`
	Kind     Kind                `json:"kind"`
	Why      string              `json:"why"`
	Edits    []plan.Place        `json:"edits"`
	Prepare  []action.Action     `json:"prepare,omitempty"`
	prepared string              // Prepare in one line
	Actions  []action.Action     `json:"actions"`
	verify   []string            // the command that checks it, without the cluster
	steps    []action.Action     // of a manual stage: Actions without those that only show something
	Findings []transform.Finding `json:"findings"`
	Diff     string              `json:"diff"`
	// Restarts are what the edit restarts, in their order, and Gap for how long no manager
	// runs the cloud controllers.
	Restarts []transform.Restart `json:"restarts"`
	Gap      string              `json:"gap,omitempty"`
	past     bool                // a stage around the switch of a migration that is complete
}

// Problem is a document that was refused.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
}

// NewPlan turns a plan into its form for programs. With stage only that stage is kept. A brief one has the diff of the next
// stage alone: diffs are a sixth of the work for many clusters.
func NewPlan(p *plan.Plan, stage string, brief bool) Plan {
	sources := lists.Map(p.Start, func(d *yamledit.Document) DocumentSource {
		return DocumentSource{SourceOf(d), fmt.Sprintf("%x", sha256.Sum256(d.Bytes()))}
	})
	out := Plan{
		Name: p.Cluster.Name, Namespace: p.Cluster.Namespace, Format: p.Cluster.Format, Version: p.Cluster.Version,
		Source: sources[0].Source, SHA256: sources[0].SHA256, Stages: []Stage{}, Status: NewStatus(p),
	}
	if stage == "" {
		out.Counts = new(out.Status.Summary.Counts)
	}
	if len(sources) > 1 {
		out.Sources = sources
	}
	for i, s := range p.Steps {
		if stage == "" || s.Stage.Name == stage {
			shown := newStage(s, p.Target)
			for _, r := range s.Documents {
				if r.Changes() && (!brief || s.Stage.Name == out.Status.Next) {
					shown.Diff += Diff(r.Before, r.After)
				}
			}
			shown.number = i + 1
			shown.past = stages.Around(s.Stage.Name) && !p.Left()
			out.Stages = append(out.Stages, shown)
		}
	}
	return out
}

func newStage(s plan.Step, t transform.Target) Stage {
	out := Stage{
		Name: s.Stage.Name, State: s.State, Count: s.Count, Kind: kindOf(s), Why: s.Stage.Why, Gap: s.Stage.Gap.String(),
		Restarts: append([]transform.Restart{}, s.Restarts()...),
		Edits:    append([]plan.Place{}, s.Edits...), Actions: []action.Action{}, Findings: Findings(s.Findings),
		verify: stages.VerifyCommand(s.Stage.Name, t),
	}
	if !s.Past() {
		out.Prepare, out.prepared = s.Stage.Prepare.Actions, s.Stage.Prepare.What
		all := slices.Concat(s.Stage.Before, s.Stage.After)
		out.Actions = append(out.Actions, all...)
		if out.Kind == Manual {
			out.steps = slices.DeleteFunc(all, func(a action.Action) bool { return a.Shows })
		}
	}
	return out
}

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

// page is a plan, in a section of the page.
func (p Plan) page(in Subject) markup {
	return findingsTable(p.unstaged()) + joined(p.Stages, func(s Stage) markup { return s.page(in.id) })
}

func (s Stage) page(of string) markup {
	attributes := []string{"id", of + "-" + s.Name}
	if s.State == plan.Blocked {
		attributes = append(attributes, "open", "")
	}
	m := within("summary", element("strong", s.Name)+" "+badge(s.Word()))
	if !s.open() {
		return within("details", m+element("p", "Nothing to do.", "class", "quiet"), attributes...)
	}
	m += element("p", s.Why)
	if text := s.effect(); text != "" {
		m += element("p", text)
	}
	m += findingsTable(s.Findings)
	for _, a := range slices.Concat(s.Prepare, s.Actions) {
		m += element("p", a.Why+":") + element("pre", a.Command)
	}
	return within("details", m+diffLines(s.Diff), attributes...)
}

// Subject is a plan as one of the results.
func (p Plan) Subject() Subject {
	s := Subject{Title: title(p), File: p.Source.File, Line: p.Source.Line, Findings: once(p.Status.Findings)}
	own := len(s.Findings)
	s.Findings = once(append(s.Findings, lists.Flat(p.Stages, func(s Stage) []transform.Finding { return s.Findings })...))
	s.ofStages = len(s.Findings) - own
	o := p.Status
	s.Cells = []string{s.Title, release(p), o.Provider, string(o.Situation), cmp.Or(o.Reached, "-"), o.next(), cmp.Or(o.found(), "-"), p.Source.File}
	var b strings.Builder
	WriteMarkdown(&b, p)
	s.Details = b.String()
	s.State, s.Content = word(o.Summary.State()), p.page
	switch {
	case o.Situation == plan.ProgressBroken(o.Version): // it is more than to do: components do not start
		s.State = string(o.Situation)
	case o.Errors > 0 && o.Summary.State() != plan.Blocked:
		s.State = "error: " + s.State
	}
	return s
}

// unstaged are the findings that no stage shows.
func (p Plan) unstaged() []transform.Finding {
	shown := lists.Flat(lists.Where(p.Stages, Stage.open), func(s Stage) []transform.Finding { return s.Findings })
	return unshown(p.Status.Findings, shown)
}

// unshown leaves out what is shown elsewhere, also if a stage makes an error of what is a warning until then.
func unshown(findings, shown []transform.Finding) []transform.Finding {
	type place struct {
		rule, file, path string
		line             int
	}
	at := func(f transform.Finding) place { return place{f.Rule, f.File, f.Path, f.Line} }
	elsewhere := lists.By(shown, at)
	return slices.DeleteFunc(once(findings), func(f transform.Finding) bool {
		_, is := elsewhere[at(f)]
		return is
	})
}

// WriteMarkdown writes a plan as a comment for a review: a table of the stages,
// and of each that is left why, what was found, the commands, and the diff to
// unfold.
func WriteMarkdown(w io.Writer, plan Plan) {
	fmt.Fprintf(w, "## %s\n\n", inline(title(plan)))
	fmt.Fprintf(w, "%s, from %s\n\n", inline(release(plan)), code(places(plan)))
	fmt.Fprint(w, "| stage | state | findings |\n|---|---|---|\n")
	for _, s := range plan.Stages {
		found := lists.Map(s.Findings, func(f transform.Finding) string { return string(f.Severity) + " " + code(f.Rule) })
		fmt.Fprintf(w, "| %s | %s | %s |\n", s.Name, emphasised(s), list(found))
	}
	fmt.Fprintln(w)
	io.WriteString(w, markdownFindings(plan.unstaged()))
	for _, s := range plan.Stages {
		if s.open() {
			markdownStage(w, s)
		}
	}
}

func emphasised(s Stage) string {
	if s.State == plan.Blocked {
		return "**" + s.Word() + "**"
	}
	return s.Word()
}

func markdownStage(w io.Writer, s Stage) {
	fmt.Fprintf(w, "### %s\n\n%s\n\n", s.Name, inline(s.Why))
	if text := s.effect(); text != "" {
		fmt.Fprintf(w, "%s\n\n", inline(text))
	}
	io.WriteString(w, markdownFindings(s.Findings))
	if len(s.Prepare) > 0 {
		fmt.Fprintf(w, "%s\n\n", inline(s.preparing()))
	}
	for _, a := range s.Actions {
		fmt.Fprintf(w, "%s:\n\n%s\n", inline(a.Why), fenced("sh", a.Command))
	}
	if s.Diff != "" {
		fmt.Fprintf(w, "<details><summary>Diff</summary>\n\n%s\n</details>\n\n", fenced("diff", s.Diff))
	}
}
