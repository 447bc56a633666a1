// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// elements builds HTML. All text and all values of attributes pass through it, and it escapes them.
// The package html/template would do the same, but calls methods by their names, so that the linker
// keeps all methods of all types: ten megabytes.
type elements struct{ strings.Builder }

func (m *elements) text(text string) { m.WriteString(html.EscapeString(text)) }

// open starts an element, with pairs of attributes.
func (m *elements) open(tag string, attributes ...string) {
	m.WriteString("<" + tag)
	for pair := range slices.Chunk(attributes, 2) {
		if m.WriteString(" " + pair[0]); pair[1] != "" {
			m.WriteString(`="` + html.EscapeString(pair[1]) + `"`)
		}
	}
	m.WriteString(">")
}

func (m *elements) close(tag string) { m.WriteString("</" + tag + ">") }

// within writes an element around what a function writes.
func (m *elements) within(tag string, inner func(), attributes ...string) {
	m.open(tag, attributes...)
	inner()
	m.close(tag)
	if !slices.Contains([]string{"span", "code", "a", "td", "th", "strong"}, tag) {
		m.WriteString("\n")
	}
}

// element writes an element with a text.
func (m *elements) element(tag, text string, attributes ...string) {
	m.within(tag, func() { m.text(text) }, attributes...)
}

// state writes a badge, in the color of its first word.
func (m *elements) state(state string) {
	kind, _, _ := strings.Cut(state, ":")
	m.element("span", state, "class", "state "+kind)
}

func (m *elements) verdict(ok bool) {
	if ok {
		m.state("ok")
		return
	}
	m.element("span", "not ok", "class", "state error")
}

// grid writes a table that scrolls by itself.
func (m *elements) grid(columns []string, rows func(), attributes ...string) {
	m.within("div", func() {
		m.within("table", func() {
			if len(columns) > 0 {
				m.within("thead", func() {
					m.within("tr", func() {
						for _, c := range columns {
							m.element("th", c)
						}
					})
				})
			}
			m.within("tbody", rows)
		}, attributes...)
	}, "class", "scroll")
}

// table writes the filter and the table of the subjects.
func (m *elements) table(t Table, list []section) {
	if len(list) == 0 {
		return
	}
	states := lists.Map(list, func(s section) string { return s.state })
	slices.Sort(states)
	m.within("form", func() {
		m.open("input", "type", "search", "id", "text", "placeholder", "Filter", "aria-label", "Filter by text")
		m.within("select", func() {
			m.element("option", "all states", "value", "")
			for _, s := range slices.Compact(states) {
				m.element("option", s)
			}
		}, "id", "state", "aria-label", "Filter by state")
		m.element("span", fmt.Sprintf("%d of %d", len(list), len(list)), "class", "quiet", "id", "count", "role", "status")
	}, "class", "filter", "id", "filter")
	m.grid(append([]string{"State"}, t.Columns...), func() {
		for _, s := range list {
			m.within("tr", func() { m.row(s) }, "data-of", s.id, "data-state", s.state)
		}
	}, "id", "subjects")
}

// cells writes a row of texts.
func (m *elements) cells(texts ...string) {
	m.within("tr", func() {
		for _, text := range texts {
			m.element("td", text)
		}
	})
}

func (m *elements) row(s section) {
	m.within("td", func() { m.state(s.state) })
	for i, cell := range s.Cells {
		m.within("td", func() {
			if i > 0 {
				m.text(cell)
				return
			}
			m.element("a", cell, "href", "#"+s.id)
		})
	}
}

func (m *elements) section(s section) {
	m.within("section", func() {
		m.within("h2", func() { m.text(s.Title + " "); m.state(s.state) })
		m.within("p", func() {
			if s.File != "" {
				m.element("code", place(Source{File: s.File, Line: s.Line}))
				m.text(" · ")
			}
			m.element("a", "to the table", "href", "#top")
		}, "class", "quiet")
		m.content(s)
	}, "id", s.id)
}

func (m *elements) content(s section) {
	c := s.Content
	if c.Plan == nil {
		m.findings(s.Findings)
	}
	switch {
	case c.Plan != nil:
		m.findings(c.Plan.apart())
		for _, stage := range c.Plan.Stages {
			m.stage(s.id, stage)
		}
	case c.Review != nil:
		m.review(*c.Review)
	case c.Verification != nil:
		m.verification(*c.Verification)
	case c.Ownership != nil:
		m.ownership(*c.Ownership)
	case c.Timeline != nil:
		m.timeline(*c.Timeline)
	}
	m.classes(c.Classes)
}

func (m *elements) findings(list []transform.Finding) {
	if len(list) == 0 {
		return
	}
	m.grid(nil, func() {
		for _, f := range list {
			m.within("tr", func() {
				m.within("td", func() {
					m.element("span", string(f.Severity), "class", "severity "+string(f.Severity))
					m.text(acceptedMark(f))
					m.open("br")
					m.element("code", f.Rule)
				}, "class", "rule")
				m.within("td", func() { m.element("code", where(f)) })
				m.within("td", func() {
					m.text(f.Message)
					if f.Fix != "" {
						m.open("br")
						m.text("→ " + f.Fix)
					}
				})
			})
		}
	}, "class", "findings")
}

func (m *elements) stage(of string, s Stage) {
	attributes := []string{"id", of + "-" + s.Name}
	if s.State == plan.Blocked {
		attributes = append(attributes, "open", "")
	}
	m.within("details", func() {
		m.within("summary", func() { m.element("strong", s.Name); m.text(" "); m.state(s.Word()) })
		if !s.open() {
			m.element("p", "Nothing to do.", "class", "quiet")
			return
		}
		m.element("p", s.Why)
		if text := s.effect(); text != "" {
			m.element("p", text)
		}
		m.findings(s.Findings)
		for _, a := range slices.Concat(s.Prepare, s.Actions) {
			m.element("p", a.Why+":")
			m.element("pre", a.Command)
		}
		if s.Diff != "" {
			m.lines(s.Diff)
		}
	}, attributes...)
}

// lines writes a diff.
func (m *elements) lines(diff string) {
	m.within("pre", func() {
		for line := range strings.Lines(diff) {
			m.element("span", line, "class", string(diffPartOf(line)))
		}
	})
}

func (m *elements) classes(list []Class) {
	if len(list) == 0 {
		return
	}
	m.element("h3", "Effective configuration")
	for _, c := range list {
		m.within("details", func() {
			m.within("summary", func() { m.text("class "); m.element("strong", c.Name); m.text(" " + roles(c)) })
			m.grid([]string{"Key", "Value", "From"}, func() {
				for _, key := range c.keys {
					m.setting(c, key)
				}
				for _, d := range c.Dropped {
					m.within("tr", func() {
						m.element("td", d.Key)
						m.element("td", "dropped: "+d.Reason)
						m.element("td", fmt.Sprintf("%s:%d", d.File, d.Line))
					}, "class", "quiet")
				}
			})
		})
	}
}

func (m *elements) setting(c Class, key string) {
	m.within("tr", func() {
		m.within("td", func() { m.element("code", key) })
		m.within("td", func() { m.element("code", compact(c.Config[key])) })
		m.within("td", func() {
			o := c.Origins[key]
			m.element("code", fmt.Sprintf("%s:%d", o.File, o.Line))
			m.text(" " + o.Path + through(o) + ", " + o.Why)
			for _, lost := range c.Overridden[key] {
				m.open("br")
				m.element("span", fmt.Sprintf("over %s:%d %s", lost.File, lost.Line, lost.Path), "class", "quiet")
			}
		})
	})
}

func (m *elements) review(c ReviewedCluster) {
	summary := c.summary()
	if c.Next != "" {
		summary += "; next stage: " + c.Next
	}
	m.element("p", summary)
	if c.Moved != "" {
		m.element("p", "was in "+c.Moved, "class", "quiet")
	}
	for _, s := range c.Stages {
		m.element("h3", s.Name)
		why := s.Why
		if s.Superseded {
			why = "A later stage of the same change leaves nothing of it."
		}
		m.element("p", why)
		for _, a := range s.Before {
			m.element("p", "Before the merge: "+a.Why)
		}
	}
	for _, class := range alike(c.Classes) {
		m.within("h3", func() { m.text("class " + class.Name + " "); m.element("span", string(class.Change), "class", "quiet") })
		for _, k := range class.Keys {
			m.within("p", func() { m.element("code", k.Key) })
			m.lines(strings.Join(k.Lines(), "\n") + "\n")
		}
	}
	for _, e := range c.Edits {
		m.within("p", func() {
			m.element("code", e.Path)
			m.text(" " + string(e.Change) + " ")
			m.element("code", fmt.Sprintf("%s:%d", e.File, e.Line), "class", "quiet")
		})
	}
}

func (m *elements) verification(v Verification) {
	m.within("p", func() {
		m.verdict(v.OK)
		m.text(" stage: " + cmp.Or(v.Reached, "none") + "; migration lease: " + v.Lease.text())
	})
	if len(v.Nodes) > 0 {
		m.grid([]string{"Node", "Provider ID", ""}, func() {
			for _, n := range v.Nodes {
				m.within("tr", func() {
					m.element("td", n.Name)
					m.within("td", func() { m.element("code", n.ProviderID) })
					m.within("td", func() { m.verdict(n.OK) })
				})
			}
		})
	}
	for _, n := range v.NotChecked {
		m.element("p", "not checked: "+n.Rule+", because "+n.Why, "class", "quiet")
	}
}

func (m *elements) ownership(o Ownership) {
	m.within("div", func() {
		for _, i := range o.Intervals {
			m.element("span", "", "class", "n"+i.Count, "style", fmt.Sprintf("flex: %g 0 0", o.share(i)), "title", i.From)
		}
	}, "class", "timeline", "role", "img", "aria-label", "timeline of the managers")
	m.grid([]string{"From", "Seconds", "Managers"}, func() {
		for _, i := range o.Intervals {
			owners := cmp.Or(list(i.Owners), "no manager")
			if i.Why != "" {
				owners = unknown + ": " + i.Why
			}
			m.cells(i.From, fmt.Sprintf("%g", i.Length), owners)
		}
	})
	for _, h := range o.Handovers {
		m.element("p", fmt.Sprintf("from %s to %s: %.1f s between the last renewal of the one and the first of the other", h.From, h.To, h.Seconds))
	}
}
