// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// Migration is what came of a migration of many clusters, for programs.
type Migration struct {
	TypeMeta
	Clusters   []MigratedCluster `json:"clusters"`
	Done       int               `json:"done"`
	Failed     int               `json:"failed"`
	NotStarted int               `json:"notStarted"`
	// Stopped says why clusters did not start.
	Stopped string `json:"stopped,omitempty"`
	// Continue is the command that continues.
	Continue string `json:"continue,omitempty"`
}

// MigratedCluster is one of them.
type MigratedCluster struct {
	migrate.Member
	Error    string           `json:"error,omitempty"`
	ExitCode int              `json:"exitCode"`
	End      *migrate.Outcome `json:"end,omitempty"`
}

// NewMigration describes what came of a migration, without its secrets.
func NewMigration(s migrate.Summary, again string) Migration {
	m := Migration{TypeMeta: Type("Migration"), Clusters: []MigratedCluster{}}
	for _, one := range s.Members {
		m.Clusters = append(m.Clusters, migrated(one))
		switch one.State {
		case transition.Done:
			m.Done++
		case transition.Failed:
			m.Failed++
		default:
			m.NotStarted++
		}
	}
	if m.Failed+m.NotStarted > 0 {
		m.Continue = again
	}
	switch {
	case m.NotStarted == 0:
	case s.Err != nil:
		m.Stopped = s.Err.Error()
	case s.Stopped:
		m.Stopped = "more clusters failed than are tolerated"
	}
	return m
}

func migrated(one migrate.Member) MigratedCluster {
	c := MigratedCluster{Member: one, ExitCode: transform.ExitCodeOf(one.Err), End: one.Outcome}
	c.Findings = Findings(one.Findings)
	if one.Err != nil {
		c.Error = one.Err.Error()
	}
	return c
}

// WriteMigration writes it for people: the clusters, what stopped some of them, and how to
// continue.
func WriteMigration(w io.Writer, p Palette, m Migration) {
	fmt.Fprintln(w)
	rows := [][]string{{"CLUSTER", "WAVE", "STATE", "STAGE", "SINCE", "GAP AT THE SWITCH", "FINDINGS"}}
	for _, c := range m.Clusters {
		rules := lists.Map(c.Findings, func(f transform.Finding) string { return f.Rule })
		rows = append(rows, lists.Map([]string{c.Cluster, c.Wave, string(c.State), c.Stage, since(c.Since), gap(c.Switch), list(rules)}, words))
	}
	writeTable(w, p, false, rows, uncolored)
	for _, c := range m.Clusters {
		if c.Error != "" {
			fmt.Fprintf(w, "\n%s\n", p.paint(red, "failed: ")+c.Error)
		}
	}
	line := fmt.Sprintf("\ndone: %d, failed: %d, not started: %d", m.Done, m.Failed, m.NotStarted)
	if m.Stopped != "" {
		line += " (" + words(m.Stopped) + ")"
	}
	fmt.Fprintln(w, line)
	if m.Continue != "" {
		fmt.Fprintln(w, "to continue: "+m.Continue)
	}
}

func since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func gap(o *migrate.Owned) string {
	if o == nil {
		return ""
	}
	text := fmt.Sprintf("%g s", o.None)
	if o.Unknown > 0 {
		text += fmt.Sprintf(" (unknown: %g s)", o.Unknown)
	}
	if o.Two > 0 {
		text += fmt.Sprintf(", two managers: %g s", o.Two)
	}
	return text
}

// MigrationStatus is one LeaderMigration in a few words.
type MigrationStatus struct {
	Name string `json:"name"`
	// Condition is the one that describes it best; "" before a controller has seen it.
	Condition string          `json:"condition"`
	Reason    string          `json:"reason"`
	Message   string          `json:"message"`
	Wave      string          `json:"wave"`
	Counts    v1alpha1.Counts `json:"counts"`
}

// WriteMigrations writes LeaderMigrations for people, below the clusters; nothing if there are none.
func WriteMigrations(w io.Writer, p Palette, list []MigrationStatus) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w)
	rows := [][]string{{"LEADERMIGRATION", "CONDITION", "REASON", "WAVE", "TOTAL", "WAITING", "RUNNING", "DONE", "FAILED", "SKIPPED"}}
	for _, m := range list {
		counts := []int{m.Counts.Total, m.Counts.Waiting, m.Counts.Running, m.Counts.Done, m.Counts.Failed, m.Counts.Skipped}
		rows = append(rows, append(lists.Map([]string{m.Name, m.Condition, m.Reason, m.Wave}, words), lists.Map(counts, strconv.Itoa)...))
	}
	writeTable(w, p, false, rows, uncolored)
}

// RunText writes the events of a run for people: what happens to Out, and what is
// waited for to Err. On a terminal what is waited for is redrawn in its place.
type RunText struct {
	Out, Err io.Writer
	Palette  Palette
	Width    int // of the terminal that Err is; 0 where it is none

	drawn int               // lines in place
	last  map[string]string // what was said of each machine
}

// Write writes an event.
func (t *RunText) Write(e RunEvent) {
	if e.Type == migrate.Awaited {
		t.await(e)
		return
	}
	t.drawn, t.last = 0, nil
	switch e.Type {
	case migrate.Staged:
		t.stage(e)
	case migrate.Checked:
		fmt.Fprintf(t.Out, "  %s %s\n", t.Palette.paint(green, "ok"), e.Message)
	case migrate.Finished:
		fmt.Fprintf(t.Out, "%s: %s; %s\n", e.Cluster, e.Message, e.End.Leader)
	case migrate.Stopped: // the error says the rest
		WriteFindings(t.Err, t.Palette, e.Findings, "  ")
	case migrate.Noted:
		if e.Message != "" {
			fmt.Fprintf(t.Err, "  %s\n", e.Message)
		}
		WriteFindings(t.Err, t.Palette, e.Findings, "  ")
	default:
		fmt.Fprintf(t.Out, "  %s\n", e.Message)
	}
}

func (t *RunText) stage(e RunEvent) {
	fmt.Fprintf(t.Out, "\n%s\n%s\n", t.Palette.paint(bold, e.Stage), t.Palette.Wrap(e.Message, "  "))
	WriteFindings(t.Out, t.Palette, e.Findings, "  ")
	if e.Diff != "" {
		fmt.Fprintln(t.Out)
		WriteDiff(t.Out, t.Palette, e.Diff)
	}
	for _, a := range e.Prepare { // shown as what it is: nothing that the run does
		fmt.Fprintln(t.Out, t.Palette.Wrap("add in AWS, if missing: "+a.Why, "  # "))
		fmt.Fprintf(t.Out, "  #   %s\n", strings.ReplaceAll(a.Command, "\n", "\n  #   "))
	}
	for _, a := range e.Actions {
		fmt.Fprintln(t.Out, t.Palette.Wrap(a.Why, "  # "))
		fmt.Fprintf(t.Out, "  $ %s\n", a.Command)
	}
}

// await draws how far things are; where nothing can be redrawn, only what is new.
func (t *RunText) await(e RunEvent) {
	if t.Width > 0 {
		erase(t.Err, t.drawn)
	}
	t.drawn = 0
	if t.last == nil {
		t.last = map[string]string{}
	}
	t.line("", "waiting: "+words(e.Message))
	for _, m := range e.Machines {
		state := m.Waiting
		if m.Done {
			state = "done"
		}
		t.line(m.Name, fmt.Sprintf("  %s (%s): %s", m.Name, m.Node, words(state)))
	}
}

func (t *RunText) line(of, text string) {
	if t.Width == 0 && t.last[of] == text {
		return
	}
	t.last[of] = text
	if t.Width > 0 {
		text = clipped(text, t.Width-3)
	}
	fmt.Fprintf(t.Err, "  %s\n", text)
	t.drawn++
}

// FleetText writes what happens to many clusters for people. On a terminal a table of the
// clusters in progress is redrawn in its place; elsewhere each event is a line.
type FleetText struct {
	Err     io.Writer
	Palette Palette
	Width   int // of the terminal that Err is; 0 where it is none
	Height  int
	Waves   []transition.Wave
	Prefix  string // of the lines of a migration among others

	members map[string]migrate.Member
	waited  map[string]string // what was said last of each
	drawn   int               // lines in place
}

// Write writes a cluster that has changed, and the event that changed it.
func (t *FleetText) Write(m migrate.Member, e RunEvent) {
	if t.members == nil {
		t.members, t.waited = map[string]migrate.Member{}, map[string]string{}
	}
	started := t.members[t.Prefix+m.Cluster].State != m.State
	t.members[t.Prefix+m.Cluster] = m
	if t.Width == 0 {
		t.writeEvent(m, e, started)
		return
	}
	erase(t.Err, t.drawn)
	t.drawn = 0
	if m.State.Ended() {
		t.ended(m)
	}
	t.draw()
}

// writeEvent writes an event as a line.
func (t *FleetText) writeEvent(m migrate.Member, e RunEvent, started bool) {
	switch e.Type {
	case "":
		switch {
		case m.State.Ended():
			t.ended(m)
		case m.State == transition.Gated:
			t.line(m, "waiting: "+m.Waiting)
		case m.State == transition.Reverting:
			t.line(m, t.Palette.paint(red, "failed, and is rolled back: "+firstLine(m)))
		case started:
			t.line(m, "starts in "+m.Wave)
		}
	case migrate.Staged:
		t.line(m, "stage "+e.Stage)
		WriteFindings(t.Err, t.Palette, e.Findings, "  ")
	case migrate.Awaited:
		if t.waited[t.Prefix+m.Cluster] != e.Message {
			t.line(m, "waiting: "+e.Message)
		}
		t.waited[t.Prefix+m.Cluster] = e.Message
	case migrate.Finished: // the report has it
	default:
		t.line(m, e.Message)
		WriteFindings(t.Err, t.Palette, e.Findings, "  ")
	}
}

// ended reports that the run of a cluster has ended.
func (t *FleetText) ended(m migrate.Member) {
	if m.State == transition.Failed {
		text := "failed: "
		if m.RolledBack {
			text = "failed and was rolled back: "
		}
		t.line(m, t.Palette.paint(red, text+firstLine(m)))
		return
	}
	t.line(m, t.Palette.paint(green, "done"))
}

// firstLine is that of the error of a run; the report has all of it.
func firstLine(m migrate.Member) string {
	line, _, _ := strings.Cut(m.Err.Error(), "\n")
	return words(strings.TrimPrefix(line, m.Cluster+": "))
}

func (t *FleetText) line(m migrate.Member, text string) {
	fmt.Fprintf(t.Err, "%s%s: %s\n", t.Prefix, words(m.Cluster), words(text))
}

// erase takes lines away that are redrawn in their place.
func erase(w io.Writer, drawn int) {
	if drawn > 0 {
		fmt.Fprint(w, controlSequence(fmt.Sprintf("%dA", drawn)), controlSequence("J"))
	}
}

// clipped is a line of so many columns: one that is wrapped could not be redrawn.
func clipped(text string, columns int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), max(columns, 0))])
}

// draw draws the table: how many clusters are in each state, and those in progress, as far
// as there is room.
func (t *FleetText) draw() {
	counts, running := map[transition.State]int{}, []migrate.Member{}
	for _, w := range t.Waves {
		for _, c := range w.Clusters {
			m, known := t.members[c]
			if !known {
				m.State = transition.Waiting
			}
			counts[m.State]++
			if m.State == transition.Running {
				running = append(running, m)
			}
		}
	}
	if len(running) == 0 {
		return
	}
	t.row(fmt.Sprintf("%s: in progress: %d, done: %d, failed: %d, waiting: %d", running[0].Wave, counts[transition.Running], counts[transition.Done], counts[transition.Failed], counts[transition.Waiting]))
	const others = 3 // the line above, the one below, and that of the cursor
	room := max(t.Height-others, 1)
	for _, m := range running[:min(room, len(running))] {
		t.row(fmt.Sprintf("  %-30s %-24s %s  %s", words(m.Cluster), cmp.Or(m.Stage, "-"), m.Since.Format("15:04:05"), words(m.Waiting)))
	}
	if more := len(running) - room; more > 0 {
		t.row(fmt.Sprintf("  and %d more", more))
	}
}

// row writes a line of the table.
func (t *FleetText) row(text string) {
	fmt.Fprintln(t.Err, clipped(text, t.Width-1))
	t.drawn++
}
