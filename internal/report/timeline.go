// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
)

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
