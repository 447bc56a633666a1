// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/shell"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// APIVersion is that of everything written for programs.
const APIVersion = "rke-lm/v1"

// Plans is the output of plan for programs; its fields are documented in
// docs/json.md.
type Plans struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Clusters   []Plan `json:"clusters"`
	// Findings are about files in forms that are not read.
	Findings []transform.Finding `json:"findings,omitempty"`
	Errors   []Problem           `json:"errors"`
}

// Plan is one cluster's plan.
type Plan struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Distro    string `json:"distro"`
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
	Counts *transform.Counts `json:"counts,omitempty"`

	Status Status `json:"-"`

	// The words of a command line that name the live cluster, and those that name the document, with choices.
	reach, where []string
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
	State    transform.State     `json:"state"`
	Count    transform.Count     `json:"count,omitempty"`
	Kind     Kind                `json:"kind"`
	Why      string              `json:"why"`
	Edits    []transform.Place   `json:"edits"`
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

// Decision is the command that shows what to decide before the next stage: about the error that blocks it, or whether
// it is done in another way. "" where nothing is to be decided.
func (p Plan) Decision() string {
	if blocked := p.Status.Outlook.Blocked; len(blocked) > 0 {
		return shell.Words("rke-lm", "rules", blocked[0])
	}
	next, _ := lists.Find(p.Stages, func(s Stage) bool { return s.Name == p.Status.Next && s.State == transform.NotInFile })
	if next.Name == "" {
		return ""
	}
	return p.verify(next)
}

// verify is the command that checks a stage.
func (p Plan) verify(s Stage) string { return shell.Words(slices.Concat(s.verify, p.reach)...) }

// Problem is a document that was refused.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
}

// NewPlan turns a plan into its form for programs. With stage only that stage is
// kept.
func NewPlan(p *transform.Plan, stage string) Plan {
	out := Plan{
		Name: p.Cluster.Name, Namespace: p.Cluster.Namespace, Distro: p.Cluster.Distro, Version: p.Cluster.Version,
		Source: SourceOf(p.Start[0]), SHA256: checksum(p.Start[0]), Stages: []Stage{}, Status: NewStatus(p),
		reach: (&Collector{}).Reach(""), where: []string{shell.Path(p.Start[0].File())},
	}
	if stage == "" {
		out.Counts = new(out.Status.Outlook.Counts)
	}
	if len(p.Start) > 1 {
		out.Sources = lists.Map(p.Start, func(d *yamledit.Document) DocumentSource { return DocumentSource{SourceOf(d), checksum(d)} })
	}
	for i, s := range p.Steps {
		if stage == "" || s.Stage.Name == stage {
			shown := newStage(s, p.Target)
			shown.number = i + 1
			shown.past = stages.Around(s.Stage.Name) && !p.Left()
			out.Stages = append(out.Stages, shown)
		}
	}
	return out
}

func checksum(d *yamledit.Document) string {
	sum := sha256.Sum256(d.Bytes())
	return hex.EncodeToString(sum[:])
}

func newStage(s transform.PlannedStage, t transform.Target) Stage {
	out := Stage{
		Name: s.Stage.Name, State: s.State, Count: s.Count, Kind: kindOf(s), Why: s.Stage.Why, Gap: s.Stage.Gap,
		Restarts: append([]transform.Restart{}, s.Restarts()...),
		Edits:    append([]transform.Place{}, s.Edits...), Actions: []action.Action{}, Findings: Findings(s.Findings),
		verify: stages.VerifyCommand(s.Stage.Name, t),
	}
	for _, r := range s.Documents {
		if r.Changes() {
			out.Diff += Diff(r.Before, r.After)
		}
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

// WritePlan writes a plan for people: what stops it, and the next stage; or whole, with all stages.
func WritePlan(w io.Writer, p Palette, plan Plan, whole bool) {
	writeHead(w, p, plan, whole)
	if !whole {
		writeBlocked(w, p, plan)
	}
	for _, s := range plan.Stages {
		if s.open() && (whole || s.Name == plan.Status.Next) {
			writeStage(w, p, s, plan.verify(s), whole)
		}
	}
}

// writeHead writes what the cluster is, its stages, and what was found in it as a whole.
func writeHead(w io.Writer, p Palette, plan Plan, whole bool) {
	fmt.Fprintf(w, "%s  %s  %s\n", p.paint(bold, title(plan)), release(plan), p.paint(dim, places(plan)))
	fmt.Fprintf(w, "provider: %s  situation: %s\n", plan.Status.Provider, plan.Status.Situation)
	if plan.Status.EndState != "" {
		fmt.Fprintln(w, p.Wrap("end state: "+plan.Status.EndState, ""))
	}
	if !whole {
		writeOthers(w, p, plan)
	}
	fmt.Fprintln(w)
	rows := append([][]string{{" #", "STAGE", "STATE", "GAP", "RESTARTS"}}, lists.Map(plan.Stages, Stage.cells)...)
	writeTable(w, p, false, rows, func(i int) string { return stateColors[plan.Stages[i].State] })
	fmt.Fprintln(w)
	if len(plan.Findings) > 0 {
		WriteFindings(w, p, plan.Findings, "")
		fmt.Fprintln(w)
	}
}

// cells are the stage in a line.
func (s Stage) cells() []string {
	row := []string{fmt.Sprintf("%2d", s.number), s.Name, s.Word(), "", ""}
	if s.Left() {
		row[3] = strings.Replace(s.Gap, " seconds", " s", 1)
		row[4] = list(s.processes())
	}
	return row
}

// writeBlocked writes what blocks stages, and what to do about it: each error once, with its stages and places.
func writeBlocked(w io.Writer, p Palette, plan Plan) {
	var found []transform.Finding
	of := map[transform.Finding][]string{}
	for _, s := range plan.Stages {
		for _, f := range transform.Stopping(s.Findings) {
			found, of[f] = append(found, f), append(of[f], s.Name)
		}
	}
	for _, same := range repeated(lists.Distinct(found)) {
		f := same[0]
		what, _, _ := strings.Cut(f.Message, ": ")
		fmt.Fprintf(w, "%s  %s: %s, %s\n%s\n", p.paint(bold, list(of[f])), p.paint(red, "blocked"), f.Rule, list(lists.Map(same, plan.line)), p.Wrap(what+" → "+f.Fix, "  "))
	}
	if len(found) > 0 {
		fmt.Fprintln(w)
	}
}

// writeOthers names the rules whose errors and warnings are not on this screen, and the command that shows them.
func writeOthers(w io.Writer, p Palette, plan Plan) {
	shown := slices.Clone(plan.Findings)
	for _, s := range plan.Stages {
		if shown = append(shown, transform.Stopping(s.Findings)...); s.open() && s.Name == plan.Status.Next {
			shown = append(shown, s.Findings...)
		}
	}
	others := slices.DeleteFunc(unshown(plan.Status.Findings, shown), func(f transform.Finding) bool { return f.Severity == transform.Note })
	if len(others) > 0 {
		fmt.Fprintln(w, p.Wrap("also found: "+counted(others)+" ("+shell.Words(append([]string{"rke-lm", "lint"}, plan.where...)...)+")", ""))
	}
}

// line is where a finding is; the head of the plan has the file.
func (p Plan) line(f transform.Finding) string {
	if line, here := strings.CutPrefix(where(f), p.Source.File+":"); here {
		return "line " + line
	}
	return where(f)
}

// release is that of the cluster; the kubelet's arguments in kubeadm's files state none.
func release(p Plan) string { return otherwise(p.Version, "release not stated") }

func title(p Plan) string {
	name := p.Name
	if name == "" {
		name = "(no name)"
	}
	if p.Namespace != "" {
		name = p.Namespace + "/" + name
	}
	return p.Distro + " " + name
}

func place(s Source) string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// places are those of all documents.
func places(p Plan) string {
	if len(p.Sources) == 0 {
		return place(p.Source)
	}
	return list(lists.Map(p.Sources, func(s DocumentSource) string { return place(s.Source) }))
}

// preparing reports what comes before a stage. The commands are many, and alike for all
// clusters, so they are where there is room.
func (s Stage) preparing() string {
	return "before it, " + s.prepared + "; the runbook of plan --out and -o json have the commands."
}

// writeStage writes a stage: whole, or with one command for its checks.
func writeStage(w io.Writer, p Palette, s Stage, verify string, whole bool) {
	fmt.Fprintf(w, "%s  %s\n", p.paint(bold, s.Name), p.state(s))
	fmt.Fprintln(w, p.Wrap(s.Why, "  "))
	if text := s.effect(); text != "" && (whole || len(s.Restarts) > 0) { // the table shows that nothing restarts
		fmt.Fprintln(w, p.Wrap(text, "  "))
	}
	found := s.Findings
	if !whole { // errors are above
		found = slices.DeleteFunc(slices.Clone(found), transform.Finding.Stops)
	}
	WriteFindings(w, p, found, "  ")
	if len(s.Prepare) > 0 {
		fmt.Fprintln(w, p.Wrap(s.preparing(), "  "))
	}
	if whole {
		writeActions(w, p, s.Actions)
	} else {
		writeActions(w, p, s.steps)
		fmt.Fprintf(w, "  after it: %s\n", p.paint(bold, verify))
	}
	if s.Diff != "" {
		fmt.Fprintln(w)
		WriteDiff(w, p, s.Diff)
	}
	fmt.Fprintln(w)
}

func writeActions(w io.Writer, p Palette, actions []action.Action) {
	for _, a := range actions {
		fmt.Fprintln(w, p.Wrap(a.Why+":", "  "))
		fmt.Fprintf(w, "    %s\n", p.paint(bold, a.Command))
	}
}

// WriteManual writes what someone has to do by hand for a stage.
func WriteManual(w io.Writer, p Palette, m transform.Manual) {
	if !m.Left {
		fmt.Fprintf(w, "%s  %s; its commands are in the runbook of plan --out\n", p.paint(bold, m.Stage), Check)
		return
	}
	fmt.Fprintf(w, "%s  %s\n", p.paint(bold, m.Stage), Manual)
	for _, list := range [][]action.Action{m.Steps, m.Check} {
		for _, i := range list {
			writeActions(w, p, []action.Action{i})
		}
	}
}

// The width of text where there is no terminal, and the most on one: longer lines are hard to
// read. A terminal may be narrower, down to the least.
const (
	usualColumns = 100
	mostColumns  = 120
	leastColumns = 40
)

// Wrap breaks text into lines that fit the terminal. A word is never broken.
func (p Palette) Wrap(text, indent string) string {
	columns := usualColumns
	if p.Width > 0 {
		columns = max(leastColumns, min(p.Width, mostColumns))
	}
	var lines []string
	line := indent
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(line)+utf8.RuneCountInString(word) >= columns && strings.TrimSpace(line) != "" {
			lines, line = append(lines, strings.TrimRight(line, " ")), indent
		}
		line += word + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}
