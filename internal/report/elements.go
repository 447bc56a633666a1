// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// markup is HTML. All text and all values of attributes become markup through escape, within and
// element, which escape them. The package html/template would do the same, but calls methods by
// their names, so that the linker keeps all methods of all types: ten megabytes.
type markup string

func escape(text string) markup { return markup(html.EscapeString(text)) }

// within is an element around markup, with pairs of attributes.
func within(tag string, inner markup, attributes ...string) markup {
	start := markup("<" + tag)
	for pair := range slices.Chunk(attributes, 2) {
		start += markup(" " + pair[0])
		if pair[1] != "" {
			start += `="` + escape(pair[1]) + `"`
		}
	}
	end := markup("</" + tag + ">")
	if !slices.Contains([]string{"span", "code", "a", "td", "th", "strong"}, tag) {
		end += "\n"
	}
	return start + ">" + inner + end
}

// element is an element with a text.
func element(tag, text string, attributes ...string) markup {
	return within(tag, escape(text), attributes...)
}

// joined is the markup of all items of a list.
func joined[T any](list []T, of func(T) markup) markup {
	var b strings.Builder
	for _, item := range list {
		b.WriteString(string(of(item)))
	}
	return markup(b.String())
}

// badge is a state, in the color of its first word.
func badge(state string) markup {
	kind, _, _ := strings.Cut(state, ":")
	return element("span", state, "class", "state "+kind)
}

func verdict(ok bool) markup {
	if ok {
		return badge("ok")
	}
	return element("span", "not ok", "class", "state error")
}

// grid is a table that scrolls by itself.
func grid(columns []string, rows markup, attributes ...string) markup {
	var head markup
	if len(columns) > 0 {
		head = within("thead", within("tr", joined(columns, func(c string) markup { return element("th", c) })))
	}
	return within("div", within("table", head+within("tbody", rows), attributes...), "class", "scroll")
}

// cells is a row of texts.
func cells(texts ...string) markup {
	return within("tr", joined(texts, func(text string) markup { return element("td", text) }))
}

// overview is the filter and the table of the subjects.
func overview(columns []string, all []Subject) markup {
	if len(all) == 0 {
		return ""
	}
	states := lists.Map(all, func(s Subject) string { return s.State })
	slices.Sort(states)
	filter := within("form", `<input type="search" id="text" placeholder="Filter" aria-label="Filter by text">`+
		within("select", element("option", "all states", "value", "")+joined(slices.Compact(states), func(s string) markup { return element("option", s) }),
			"id", "state", "aria-label", "Filter by state")+
		element("span", fmt.Sprintf("%d of %d", len(all), len(all)), "class", "quiet", "id", "count", "role", "status"), "class", "filter", "id", "filter")
	return filter + grid(append([]string{"State"}, columns...), joined(all, Subject.row), "id", "subjects")
}

// row is the row of a subject in the table.
func (s Subject) row() markup {
	row := within("td", badge(s.State))
	for i, cell := range s.Cells {
		if i == 0 {
			row += within("td", element("a", cell, "href", "#"+s.id))
		} else {
			row += element("td", cell)
		}
	}
	return within("tr", row, "data-of", s.id, "data-state", s.State)
}

// details are all that the page shows of a subject.
func (s Subject) details() markup {
	var at markup
	if s.File != "" {
		at = element("code", place(Source{File: s.File, Line: s.Line})) + " · "
	}
	content := findingsTable(s.Findings)
	if s.Content != nil {
		content = s.Content(s)
	}
	return within("section", within("h2", escape(s.Title+" ")+badge(s.State))+
		within("p", at+element("a", "to the table", "href", "#top"), "class", "quiet")+content+configuration(s.Classes), "id", s.id)
}

func findingsTable(list []transform.Finding) markup {
	if len(list) == 0 {
		return ""
	}
	return grid(nil, joined(list, func(f transform.Finding) markup {
		message := escape(f.Message)
		if f.Fix != "" {
			message += "<br>" + escape("→ "+f.Fix)
		}
		severity := element("span", string(f.Severity), "class", "severity "+string(f.Severity))
		return within("tr", within("td", severity+escape(acceptedMark(f))+"<br>"+element("code", f.Rule), "class", "rule")+
			within("td", element("code", where(f)))+within("td", message))
	}), "class", "findings")
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

// diffLines is a diff; nothing for "".
func diffLines(diff string) markup {
	if diff == "" {
		return ""
	}
	return within("pre", joined(slices.Collect(strings.Lines(diff)), func(line string) markup {
		return element("span", line, "class", diffPartOf(line).class)
	}))
}

// configuration is the effective configuration of machine classes.
func configuration(classes []Class) markup {
	if len(classes) == 0 {
		return ""
	}
	return element("h3", "Effective configuration") + joined(classes, func(c Class) markup {
		rows := joined(c.keys, c.setting) + joined(c.Dropped, func(d Dropped) markup {
			return within("tr", element("td", d.Key)+element("td", "dropped: "+d.Reason)+element("td", fmt.Sprintf("%s:%d", d.File, d.Line)), "class", "quiet")
		})
		return within("details", within("summary", "class "+element("strong", c.Name)+escape(" "+roles(c.Labels)))+grid([]string{"Key", "Value", "From"}, rows))
	})
}

func (c Class) setting(key string) markup {
	o := c.Origins[key]
	from := element("code", fmt.Sprintf("%s:%d", o.File, o.Line)) + escape(" "+o.Path+through(o)+", "+o.Why)
	for _, lost := range c.Overridden[key] {
		from += "<br>" + element("span", fmt.Sprintf("over %s:%d %s", lost.File, lost.Line, lost.Path), "class", "quiet")
	}
	return within("tr", within("td", element("code", key))+within("td", element("code", yamledit.JSON(c.Config[key])))+within("td", from))
}

func (c ReviewedCluster) page(in Subject) markup {
	summary := c.summary()
	if c.Next != "" {
		summary += "; next stage: " + c.Next
	}
	m := findingsTable(in.Findings) + element("p", summary)
	if c.Moved != "" {
		m += element("p", "was in "+c.Moved, "class", "quiet")
	}
	for _, s := range c.Stages {
		why := s.Why
		if s.Superseded {
			why = "A later stage of the same change leaves nothing of it."
		}
		m += element("h3", s.Name) + element("p", why)
		for _, a := range s.Before {
			m += element("p", "Before the merge: "+a.Why)
		}
	}
	for _, class := range alike(c.Classes) {
		m += within("h3", escape("class "+class.Name+" ")+element("span", string(class.Kind), "class", "quiet"))
		for _, k := range class.Keys {
			m += within("p", element("code", k.Name)) + diffLines(strings.Join(changedLines(k), "\n")+"\n")
		}
	}
	return m + joined(c.Edits, func(e ReviewedEdit) markup {
		return within("p", element("code", e.Path)+escape(" "+string(e.Change)+" ")+element("code", fmt.Sprintf("%s:%d", e.File, e.Line), "class", "quiet"))
	})
}

func (v Verification) page(in Subject) markup {
	m := findingsTable(in.Findings) + within("p", verdict(v.OK)+escape(" stage: "+cmp.Or(v.Reached, "none")+"; migration lease: "+leaseText(v.Lease)))
	if len(v.Nodes) > 0 {
		m += grid([]string{"Node", "Provider ID", ""}, joined(v.Nodes, func(n check.Node) markup {
			return within("tr", element("td", n.Name)+within("td", element("code", n.ProviderID))+within("td", verdict(n.OK)))
		}))
	}
	return m + joined(v.NotChecked, func(n check.NotChecked) markup {
		return element("p", "not checked: "+n.Rule+", because "+n.Why, "class", "quiet")
	})
}

func (o Ownership) page(in Subject) markup {
	timeline := joined(o.Intervals, func(i Interval) markup {
		return element("span", "", "class", "n"+i.Count, "style", fmt.Sprintf("flex: %g 0 0", o.share(i)), "title", i.From)
	})
	rows := joined(o.Intervals, func(i Interval) markup {
		owners := cmp.Or(list(i.Owners), "no manager")
		if i.Why != "" {
			owners = unknown + ": " + i.Why
		}
		return cells(i.From, fmt.Sprintf("%g", i.Length), owners)
	})
	return findingsTable(in.Findings) + within("div", timeline, "class", "timeline", "role", "img", "aria-label", "timeline of the managers") +
		grid([]string{"From", "Seconds", "Managers"}, rows) + joined(o.Handovers, func(h Handover) markup {
		return element("p", fmt.Sprintf("from %s to %s: %.1f s between the last renewal of the one and the first of the other", h.From, h.To, h.Seconds))
	})
}

// pageText is the page around its content. It loads nothing, and its only links are to places in
// itself.
//
//go:embed page.html
var pageText string

// WriteHTML writes one page: a table of the subjects, with these columns and a filter, and the details of each.
func (r *Results) WriteHTML(w io.Writer, columns []string) {
	list := slices.Clone(r.Subjects)
	for i, s := range list {
		list[i].id, list[i].State = fmt.Sprintf("subject-%d", i+1), s.state()
	}
	about := r.totals()
	if r.Version != "" {
		about += " · rke-lm " + r.Version
	}
	m := element("h1", "rke-lm "+r.Verb) + element("p", about, "class", "quiet") + joined(r.Errors, func(e Problem) markup {
		return within("p", element("span", "error", "class", "severity error")+escape(" "+e.Message))
	}) + findingsTable(r.Findings) + overview(columns, list) + joined(list, Subject.details)
	if when, next := r.Summary.next(); next != "" {
		m += within("p", escape(when+"next: ")+element("code", next))
	}
	strings.NewReplacer("<!--verb-->", html.EscapeString(r.Verb), "<!--content-->", string(m)).WriteString(w, pageText)
}

// state is by what the filter finds a subject: how far it is, or its worst finding.
func (s Subject) state() string {
	switch {
	case s.State != "":
		return s.State
	case s.stops():
		return "error"
	}
	for _, of := range []transform.Severity{transform.Warning, transform.Note} {
		if slices.ContainsFunc(s.Findings, func(f transform.Finding) bool { return f.Severity == of }) {
			return string(of)
		}
	}
	return "ok"
}

// share is which part of the timeline an interval takes, in percent.
func (o Ownership) share(i Interval) float64 {
	total := 0.0
	for _, seconds := range o.Seconds {
		total += seconds
	}
	if total == 0 {
		return 0
	}
	return milli(100 * i.Length / total)
}
