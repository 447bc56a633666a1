// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

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
