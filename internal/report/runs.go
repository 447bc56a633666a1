// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Runs shows what happens in runs over clusters: as lines of JSON, or as text, and at the end on a page.
type Runs struct {
	*Collector          // its output keeps its errors
	One        *RunText // of one cluster
	Many       *FleetText
	In         *bufio.Reader

	of map[string]*Timeline // by cluster
}

// NewRuns shows runs over one cluster, or over many. A page is written at the end, so the text is not on standard output.
func NewRuns(c *Collector, in io.Reader, many bool) *Runs {
	r := &Runs{Collector: c, In: bufio.NewReader(in), of: map[string]*Timeline{}}
	if many {
		r.Many = &FleetText{Err: c.Err, Palette: c.ErrPalette}
		r.Many.Width, r.Many.Height = Size(c.Err)
		return r
	}
	r.One = &RunText{Out: c.Out, Err: c.Err, Palette: c.Palette, Width: Width(c.Err)}
	if c.OutputFormat == "html" {
		r.One.Out, r.One.Palette = c.Err, c.ErrPalette
	}
	return r
}

// Show shows an event of a cluster.
func (r *Runs) Show(m migrate.Member, e migrate.Event) {
	event := NewRunEvent(e)
	switch {
	case r.OutputFormat == "json":
		if e.Type != "" {
			fmt.Fprintln(r.Out, yamledit.JSON(event))
		}
		return
	case r.OutputFormat == "html" && e.Type != "":
		r.timeline(e.Cluster).Add(event)
	}
	if r.One != nil {
		r.One.Write(event)
	} else {
		r.Many.Write(m, event)
	}
}

func (r *Runs) timeline(cluster string) *Timeline {
	if r.of[cluster] == nil {
		r.of[cluster] = &Timeline{Cluster: cluster}
	}
	return r.of[cluster]
}

// WriteRun writes the page of the run over one cluster, "" where it did not begin, and returns its error.
func (r *Runs) WriteRun(cluster string, err error) error {
	if r.OutputFormat != "html" || cluster == "" {
		return err
	}
	state := transition.Done
	if err != nil {
		state = transition.Failed
	}
	r.writePage(migrate.Member{Cluster: cluster, State: state, Err: err})
	return err
}

// WriteSummary writes what came of a migration of many clusters, and returns its error. again is the command that
// continues.
func (r *Runs) WriteSummary(s migrate.Summary, again string) error {
	switch made := NewMigration(s, again); r.OutputFormat {
	case "json":
		fmt.Fprintln(r.Out, yamledit.JSON(made))
	case "html":
		WriteMigration(r.Err, r.ErrPalette, made)
		r.writePage(s.Members...)
	default:
		WriteMigration(r.Out, r.Palette, made)
	}
	if r.Code = int(s.ExitCode()); s.Err != nil {
		return transform.WithExitCode(s.ExitCode(), s.Err)
	}
	return nil
}

// writePage writes the page of runs, also of those that did not start.
func (r *Runs) writePage(all ...migrate.Member) {
	for _, m := range all {
		r.Keep(r.timeline(m.Cluster).Subject(string(m.State), m.Err))
	}
	r.WriteHTML(r.Out, TimelineTable)
}

// Agree asks whether to start a wave.
func (r *Runs) Agree(ctx context.Context, w transition.Wave) (bool, error) {
	fmt.Fprintf(r.Err, "\n%s:\n", w.Name)
	for _, cluster := range w.Clusters {
		fmt.Fprintf(r.Err, "  %s\n", cluster)
	}
	return r.Ask(ctx, w.Name)
}

// Ask asks on the terminal whether to continue with a stage or a wave. A user who ends the run need not answer.
func (r *Runs) Ask(ctx context.Context, next string) (bool, error) {
	fmt.Fprintf(r.Err, "\nContinue with %s? [y/N] ", next)
	answer := make(chan string, 1)
	go func() {
		line, err := r.In.ReadString('\n')
		if err != nil {
			line = ""
		}
		answer <- line
	}()
	select {
	case line := <-answer:
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// RunEvent is what happens in a run of migrate or rollback: one line of its stream.
type RunEvent struct {
	TypeMeta
	migrate.Event
}

// NewRunEvent returns an event for programs, without its secrets.
func NewRunEvent(e migrate.Event) RunEvent {
	e.Findings = Findings(e.Findings)
	if e.From != nil {
		e.From, e.To, e.Diff = nil, nil, Diff(e.From, e.To)
	}
	e.Machines = slices.Clone(e.Machines)
	for i := range e.Machines {
		e.Machines[i].Waiting = redact.Text(e.Machines[i].Waiting)
	}
	return RunEvent{Type("RunEvent"), e}
}

// Timeline is what happened in a run over one cluster, stage by stage, for a page.
type Timeline struct {
	Cluster string
	spans   []span
	end     *migrate.Outcome
}

// span is a time in which a run worked on one stage; "" is before the first one, or after the last.
type span struct {
	stage    string
	title    string
	from, to time.Time
	events   []RunEvent // of what is waited for only what is new
	owners   *migrate.Owned
	waited   string
}

// Add adds an event.
func (t *Timeline) Add(e RunEvent) {
	last := len(t.spans) - 1
	if last >= 0 {
		t.spans[last].to = e.Time
	}
	if last < 0 || t.spans[last].stage != e.Stage {
		title := cmp.Or(e.Stage, "after the last stage")
		if e.Stage == "" && last < 0 {
			title = "before the first stage"
		}
		t.spans = append(t.spans, span{stage: e.Stage, title: title, from: e.Time, to: e.Time})
		last++
	}
	t.spans[last].add(e)
	if e.End != nil {
		t.end = e.End
	}
}

func (s *span) add(e RunEvent) {
	if e.Type == migrate.Awaited {
		if e.Message == s.waited {
			return
		}
		s.waited = e.Message
		e.Machines = nil // of many observations
	}
	if e.Owners != nil {
		s.owners = e.Owners
	}
	s.events = append(s.events, e)
}

// seconds is how long the stage took; a stage that runs again counts twice.
func (s span) seconds() float64 { return math.Round(s.to.Sub(s.from).Seconds()*10) / 10 }

// TimelineTable are the columns of a summary of runs.
var TimelineTable = []string{"Cluster", "Last stage", "Seconds", "Gap at the switch", "Findings"}

// Subject is the run as one of the results: its state, and why it failed or did not start.
func (t *Timeline) Subject(state string, err error) Subject {
	var found []transform.Finding
	stage, seconds := "", 0.0
	var atSwitch *migrate.Owned
	for _, s := range t.spans {
		found = append(found, lists.Flat(s.events, func(e RunEvent) []transform.Finding { return e.Findings })...)
		stage, seconds = cmp.Or(s.stage, stage), seconds+s.seconds()
		if s.stage == stages.SwitchToExternal && s.owners != nil {
			atSwitch = s.owners
		}
	}
	out := Subject{Title: t.Cluster, State: state, Findings: once(found)}
	out.Cells = []string{t.Cluster, cmp.Or(stage, "-"), fmt.Sprintf("%g", math.Round(seconds*10)/10), gap(atSwitch), counted(out.Findings)}
	out.Content = func(in Subject) markup { return findingsTable(in.Findings) + t.page(err) }
	return out
}

// page is a run, and why it failed: its stages in proportion to their time, and what happened in each.
func (t *Timeline) page(err error) (m markup) {
	if len(t.spans) > 0 {
		m = within("div", joined(t.spans, func(s span) markup {
			return element("span", "", "class", "stage", "style", fmt.Sprintf("flex: %g 0 0", s.seconds()), "title", fmt.Sprintf("%s: %g s", s.title, s.seconds()))
		}), "class", "timeline", "role", "img", "aria-label", "timeline of stages")
		m += grid([]string{"Stage", "From", "Seconds", "Managers that ran the cloud controllers"}, joined(t.spans, func(s span) markup {
			return cells(s.title, s.from.UTC().Format(moment), fmt.Sprintf("%g", s.seconds()), owned(s.owners))
		}))
	}
	if err != nil {
		m += element("h3", "Error") + element("pre", err.Error(), "class", "wrap")
	}
	m += joined(t.spans, span.page)
	if t.end != nil {
		m += element("h3", "End") + element("p", "Stages that are done: "+cmp.Or(list(t.end.Done), "none")+". "+t.end.Leader)
		for _, c := range [][2]string{{"To continue:", t.end.Continue}, {"To go back:", t.end.Revert}} {
			if c[1] != "" {
				m += element("p", c[0]) + element("pre", c[1], "class", "wrap")
			}
		}
	}
	return m
}

// owned is for how long the cloud controllers had so many owners.
func owned(o *migrate.Owned) string {
	if o == nil {
		return "-"
	}
	return fmt.Sprintf("none %g s, one %g s, two %g s, unknown %g s", o.None, o.One, o.Two, o.Unknown)
}

// page is what happened in a stage.
func (s span) page() markup {
	m := within("summary", element("strong", s.title)+escape(fmt.Sprintf(" %g s", s.seconds())))
	var rows markup
	staged := slices.IndexFunc(s.events, func(e RunEvent) bool { return e.Type == migrate.Staged })
	for i, e := range s.events {
		if i == staged {
			m += element("p", e.Message) + diffLines(e.Diff)
		} else {
			rows += cells(e.Time.UTC().Format(time.TimeOnly), e.Type, e.Message)
		}
	}
	return within("details", m+grid([]string{"Time", "Event", ""}, rows))
}
