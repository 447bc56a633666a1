// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// EffectiveConfigs is the output of explain for programs; its fields are
// documented in docs/json.md.
type EffectiveConfigs struct {
	TypeMeta
	Clusters []EffectiveConfig `json:"clusters"`
	Errors   []Problem         `json:"errors"`
}

// EffectiveConfig is what Rancher gives each machine class of a cluster.
type EffectiveConfig struct {
	Name      string  `json:"name"`
	Namespace string  `json:"namespace"`
	Format    string  `json:"distro"`
	Source    Source  `json:"source"`
	Classes   []Class `json:"classes"`
}

// Class is one machine class.
type Class struct {
	Name       string              `json:"name"`
	Labels     map[string]string   `json:"labels"`
	Config     map[string]any      `json:"config"`
	Origins    map[string]Origin   `json:"origins"`
	Overridden map[string][]Origin `json:"overridden"`
	Dropped    []Dropped           `json:"dropped"`
	keys       []string
}

// Origin is where a value is set.
type Origin struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Path string `json:"path"`
	Why  string `json:"why,omitempty"` // for which machines the winner is set
	// Alias is the line of the alias or the merge key that brings the value to the
	// path; Line is where it is written.
	Alias int `json:"alias,omitempty"`
}

// Dropped is a value that does not reach the machines.
type Dropped struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
	Origin
}

// NewClass turns a machine class into its form for programs. With key only that
// key is kept.
func NewClass(m transform.MachineClass, key string) Class {
	c := Class{Name: redact.Text(m.Name), Labels: map[string]string{}, Config: map[string]any{}, Origins: map[string]Origin{}, Overridden: map[string][]Origin{}, Dropped: []Dropped{}}
	for label, v := range m.Labels {
		c.Labels[label] = redact.Value(label, v).(string)
	}
	for _, s := range m.Settings {
		if key != "" && s.Key != key {
			continue
		}
		c.keys = append(c.keys, s.Key)
		c.Config[s.Key] = redact.Value(s.Key, s.Value)
		won := originOf(s.Origin)
		won.Why = redact.Selector(s.Why)
		c.Origins[s.Key] = won
		for _, o := range s.Overridden {
			c.Overridden[s.Key] = append(c.Overridden[s.Key], originOf(o))
		}
	}
	for _, d := range m.Dropped {
		if key == "" || d.Key == key {
			c.Dropped = append(c.Dropped, Dropped{d.Key, d.Reason, originOf(d.Origin)})
		}
	}
	return c
}

// Any reports whether anything is set or dropped.
func (c Class) Any() bool { return len(c.Config)+len(c.Dropped) > 0 }

func originOf(n yamledit.Node) Origin {
	return Origin{File: n.Document().File(), Line: n.Written(), Path: n.Path(), Alias: n.Alias()}
}

// Explained is what the machines of a cluster get, or what a stage changes of it.
type Explained struct {
	Config EffectiveConfig
	Diffs  []string
	Note   string // where there is nothing to show
	Err    error
}

// WriteExplained writes what machines get in the form of the output.
func (c *Collector) WriteExplained(all []Explained) {
	list := EffectiveConfigs{TypeMeta: Type("EffectiveConfig"), Clusters: []EffectiveConfig{}}
	text := bufio.NewWriter(c.Out)
	for _, x := range all {
		if x.Note != "" {
			fmt.Fprintln(c.Err, x.Note)
		}
		c.WriteDiffs(x.Diffs)
		if x.Config.Format != "" {
			list.Clusters = append(list.Clusters, x.Config)
			if c.OutputFormat == "text" {
				writeEffective(text, c.Palette, x.Config)
			}
		}
		text.Flush() // the output keeps its errors
		c.Fail(x.Err)
	}
	if list.Errors = c.Errors; c.OutputFormat != "text" {
		c.dump(list)
	}
}

// writeEffective writes a cluster's effective configuration for people.
func writeEffective(w io.Writer, p Palette, e EffectiveConfig) {
	fmt.Fprintf(w, "%s  %s\n", p.paint(bold, title(Plan{Format: e.Format, Namespace: e.Namespace, Name: e.Name, Source: e.Source})), p.paint(dim, place(e.Source)))
	for _, c := range e.Classes {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(p.paint(bold, "class "+c.Name)+" "+p.paint(dim, roles(c.Labels))))
		for _, key := range c.keys {
			writeSetting(w, p, c, key)
		}
		for _, d := range c.Dropped {
			fmt.Fprintf(w, "  %s\n", p.paint(dim, fmt.Sprintf("%s: dropped, %s (line %d)", d.Key, d.Reason, d.Line)))
		}
	}
	fmt.Fprintln(w)
}

func writeSetting(w io.Writer, p Palette, c Class, key string) {
	o := c.Origins[key]
	fmt.Fprintf(w, "  %s: %s\n", p.paint(cyan, key), yamledit.JSON(c.Config[key]))
	fmt.Fprintf(w, "      %s\n", p.paint(dim, fmt.Sprintf("from %s:%d %s%s, %s", o.File, o.Line, o.Path, through(o), o.Why)))
	for _, lost := range c.Overridden[key] {
		fmt.Fprintf(w, "      %s\n", p.paint(dim, fmt.Sprintf("over %s:%d %s%s", lost.File, lost.Line, lost.Path, through(lost))))
	}
}

// through reports how a value gets to where it counts.
func through(o Origin) string {
	if o.Alias == 0 {
		return ""
	}
	return fmt.Sprintf(" (by the alias on line %d)", o.Alias)
}

// roles lists the roles by which Rancher knows the machines.
func roles(labels map[string]string) string {
	out := lists.Where([]string{"control-plane", "etcd", "worker"}, func(r string) bool { return labels["rke.cattle.io/"+r+"-role"] == "true" })
	if os := labels["cattle.io/os"]; os != "" && os != "linux" {
		out = append(out, os)
	}
	if len(labels) == 0 {
		return "" // no machine, but a manager
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// Lines returns a class's configuration as sorted lines, for a comparison.
func (c Class) Lines() string {
	var b strings.Builder
	for _, key := range c.keys {
		if list, ok := c.Config[key].([]any); ok {
			fmt.Fprintf(&b, "%s:\n", key)
			for _, m := range list {
				fmt.Fprintf(&b, "  - %s\n", yamledit.JSON(m))
			}
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", key, yamledit.JSON(c.Config[key]))
	}
	return b.String()
}

// Rules are the rules, for programs.
type Rules struct {
	TypeMeta
	Rules []Rule `json:"rules"`
}

// Rule is one rule as some kinds of clusters have it.
type Rule struct {
	Name       string             `json:"name"`
	For        []string           `json:"for"`
	Severity   transform.Severity `json:"severity"`
	Stages     []string           `json:"stages"`
	Acceptable bool               `json:"acceptable"`
	Fixable    bool               `json:"fixable"`
	Finds      string             `json:"finds"`
	transform.Reason
}

// AddRule adds a rule of one kind of clusters, to the row of another kind that has the
// same.
func AddRule(list []Rule, of string, r transform.Rule) []Rule {
	row := Rule{Name: r.ID, Severity: r.Severity, Stages: append([]string{}, r.Guards...), Acceptable: r.Acceptable(), Fixable: r.Fixable, Finds: r.Doc, Reason: r.Reason}
	for i, other := range list {
		kinds := other.For
		if other.For = nil; reflect.DeepEqual(other, row) {
			if !slices.Contains(kinds, of) {
				list[i].For = append(kinds, of)
			}
			return list
		}
	}
	row.For = []string{of}
	return append(list, row)
}

// WriteRuleList writes a line for each rule.
func WriteRuleList(w io.Writer, p Palette, list []Rule) {
	names := aligned(lists.Map(list, func(r Rule) []string { return []string{r.Name, ""} }))
	for i, r := range list {
		if i > 0 && list[i-1].Name == r.Name {
			continue // RULE shows its forms
		}
		fmt.Fprintf(w, "%s%s  %s\n", names[i], p.severity(r.Severity)+strings.Repeat(" ", len(transform.Warning)-len(r.Severity)), summary(r.Finds))
	}
}

// summary is the first clause of a description, where that is enough for a line.
func summary(text string) string {
	const enough = 100
	first, _, _ := strings.Cut(text, ". ")
	if clause, _, found := strings.Cut(first, ": "); found && len(first) > enough && len(clause) > 20 {
		first = clause
	}
	return strings.TrimSuffix(first, ".")
}

// WriteRules explains rules.
func WriteRules(w io.Writer, p Palette, list []Rule) {
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s  %s\n", p.paint(bold, r.Name), p.severity(r.Severity), strings.Join(r.For, ", "))
		fmt.Fprintln(w, p.Wrap(r.Finds, "  "))
		for _, part := range []struct{ name, text string }{
			{"Why", r.Why}, {"Correct it", r.Repair}, {"Accept it", r.acceptance()}, {"Stages", r.stages()}, {"Source", r.Source},
		} {
			fmt.Fprintf(w, "\n  %s\n%s\n", p.paint(dim, part.name), p.Wrap(part.text, "    "))
		}
	}
}

func (r Rule) acceptance() string {
	if !r.Acceptable {
		return "Never: --accept is refused for this rule."
	}
	return "--accept " + r.Name + ". " + r.Accept
}

func (r Rule) stages() string {
	switch {
	case len(r.Stages) == 0:
		return "None: it blocks no stage, or refuses the document."
	case r.Severity != transform.Error:
		return "Shown with " + strings.Join(r.Stages, ", ") + "."
	}
	return "Errors block " + strings.Join(r.Stages, ", ") + "."
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
