// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// WritePlan writes a plan for people: what stops it, and the next stage; or whole, with all stages.
func (c *Collector) WritePlan(plan Plan, whole bool) {
	w, p := bufio.NewWriter(c.Out), c.Palette
	defer w.Flush() // the output keeps its errors
	fmt.Fprintf(w, "%s  %s  %s\n", p.paint(bold, title(plan)), release(plan), p.paint(dim, places(plan)))
	fmt.Fprintf(w, "provider: %s  situation: %s\n", plan.Status.Provider, plan.Status.Situation)
	if plan.Status.EndState != "" {
		fmt.Fprintln(w, p.Wrap("end state: "+plan.Status.EndState, ""))
	}
	if !whole {
		c.writeOthers(w, plan)
	}
	writeStages(w, p, plan)
	if !whole {
		writeBlocked(w, p, plan)
	}
	for _, s := range plan.Stages {
		if s.open() && (whole || s.Name == plan.Status.Next) {
			writeStage(w, p, s, c.verify(s, plan.Status.Live), whole)
		}
	}
}

// verify is the command that checks a stage.
func (c *Collector) verify(s Stage, live string) string {
	return action.Words(slices.Concat(s.verify, c.Reach(live))...)
}

// decision is the command that shows what to decide before the next stage: about the error that blocks it, or whether
// it is done in another way. "" where nothing is to be decided.
func (c *Collector) decision(of Plan) string {
	if blocked := of.Status.Summary.Blocked; len(blocked) > 0 {
		return action.Words("rke-lm", "rules", blocked[0])
	}
	next, _ := lists.Find(of.Stages, func(s Stage) bool { return s.Name == of.Status.Next && s.State == plan.NotInFile })
	if next.Name == "" {
		return ""
	}
	return c.verify(next, of.Status.Live)
}

// writeStages writes the table of the stages, and what was found in the cluster as a whole.
func writeStages(w io.Writer, p Palette, plan Plan) {
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
		stage := of[f][0]
		if more := len(of[f]) - 1; more > 0 { // the table has them
			stage += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(w, "%s  %s: %s, %s\n%s\n", p.paint(bold, stage), p.paint(red, "blocked"), f.Rule, list(lists.Map(same, plan.line)), p.Wrap(what+" → "+f.Fix, "  "))
	}
	if len(found) > 0 {
		fmt.Fprintln(w)
	}
}

// writeOthers names the rules whose errors and warnings are not on this screen, and the command that shows them.
func (c *Collector) writeOthers(w io.Writer, plan Plan) {
	shown := slices.Clone(plan.Findings)
	for _, s := range plan.Stages {
		if shown = append(shown, transform.Stopping(s.Findings)...); s.open() && s.Name == plan.Status.Next {
			shown = append(shown, s.Findings...)
		}
	}
	others := slices.DeleteFunc(unshown(plan.Status.Findings, shown), func(f transform.Finding) bool { return f.Severity == transform.Note })
	if len(others) > 0 {
		lint := action.Words(slices.Concat([]string{"rke-lm", "lint"}, c.changing(plan.Status.Live), c.whereOf(plan.Status))...)
		fmt.Fprintln(w, c.Palette.Wrap("also found: "+counted(others)+" ("+lint+")", ""))
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
func release(p Plan) string { return cmp.Or(p.Version, "release not stated") }

func title(p Plan) string {
	return p.Format + " " + transform.Identity{Namespace: p.Namespace, Name: p.Name}.TitleIn(p.Source.File)
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

// writeManual writes what someone has to do by hand for a stage.
func writeManual(w io.Writer, p Palette, s plan.Step) {
	if !s.Manual { // nothing but checks
		fmt.Fprintf(w, "%s  %s; its commands are in the runbook of plan --out\n", p.paint(bold, s.Stage.Name), Check)
		return
	}
	fmt.Fprintf(w, "%s  %s\n", p.paint(bold, s.Stage.Name), Manual)
	writeActions(w, p, slices.Concat(s.Stage.After, s.Stage.Verify))
}

// Planned is the plan of a cluster, and those that follow it up to a later release.
type Planned struct {
	Plans   []Plan
	Unseen  []transform.Finding // about documents that were not given
	Classes []Class
	Runbook string              // in its folder; "" for none
	Found   []transform.Finding // about no cluster
	Ends                        // its folders
}

// PlanText is what people see of plans.
type PlanText struct {
	Stage string // the only one; "" for all
	All   bool   // every stage whole
	Alone bool   // the summary
}

// WritePlans writes plans, and what was found about no cluster, in the form of the output.
func (c *Collector) WritePlans(results []Planned, text PlanText) {
	c.Findings = lists.Flat(results, func(m Planned) []transform.Finding { return m.Found })
	all := lists.Where(results, func(m Planned) bool { return len(m.Plans) > 0 })
	for _, m := range all {
		first := c.Command == ""
		if (c.OutputFormat == "text" || c.OutputFormat == "html") && text.Stage == "" { // the plan of one stage is no plan of what comes next
			c.Row(m.Plans[0].Status)
		}
		if first && c.Command != "" {
			c.Runbook = m.Runbook
		}
	}
	switch {
	case c.OutputFormat == "text":
		c.writePlans(all, text)
	case c.Reports():
		for _, m := range all {
			for i, plan := range m.Plans {
				subject := plan.Subject()
				if i == 0 { // the effective configuration is that of the documents as they are
					subject.Classes = m.Classes
				}
				c.Keep(subject)
			}
		}
		c.decideOne(all, text)
		c.writeResults(PlanTable)
	default:
		list := Plans{TypeMeta: Type("Plan"), Clusters: []Plan{}, Errors: c.Errors, Findings: c.Findings}
		for _, m := range all {
			first := &m.Plans[0]
			first.Findings = append(first.Findings, Findings(m.Unseen)...)
			list.Clusters = append(list.Clusters, m.Plans...)
		}
		c.dump(list)
	}
}

// writePlans writes plans for people: of several clusters the summary, and then all stages if they are asked for.
func (c *Collector) writePlans(all []Planned, text PlanText) {
	WriteFindings(c.Err, c.ErrPalette, c.Findings, "")
	c.Refused = len(c.Errors)
	whole := text.All || text.Stage != ""
	if len(c.Rows) > 0 && (text.Alone || c.Several()) {
		c.Write(c.Out, c.Palette)
		if text.Alone || !whole {
			objections := lists.Flat(all, func(m Planned) []transform.Finding { return m.Plans[0].Findings }) // about clusters as a whole
			WriteFindings(c.Err, c.ErrPalette, objections, "")
			return
		}
		fmt.Fprintln(c.Out)
	}
	for _, m := range all {
		for _, plan := range m.Plans {
			c.WritePlan(plan, whole)
		}
		WriteFindings(c.Out, c.Palette, m.Unseen, "")
	}
	if c.Several() {
		c.Write(c.Out, c.Palette)
		return
	}
	c.decideOne(all, text)
	c.WriteNext(c.Out, c.Palette)
}

// decideOne is what comes next where there is one plan: what to decide in it, or to confirm.
func (c *Collector) decideOne(all []Planned, text PlanText) {
	if len(all) != 1 || c.Several() {
		return
	}
	decision := c.decision(all[0].Plans[0])
	switch s := all[0].Plans[0].Status; {
	case text.Stage != "" && text.Stage != s.Next:
	case decision != "":
		c.Command = decision
	case s.Summary.Manual:
		c.When = "when " + s.Next + " is done and checked"
		c.Command = c.Apply(s, "--manual-done="+s.Next)
	case text.Stage != "":
		c.Command = c.Apply(s)
	}
}
