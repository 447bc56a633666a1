// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Ownership is a timeline of owners, for programs.
type Ownership struct {
	TypeMeta
	Intervals []Interval         `json:"intervals"`
	Handovers []Handover         `json:"handovers"`
	Arguments []Arguments        `json:"arguments,omitempty"`
	Seconds   map[string]float64 `json:"seconds"`
}

// Arguments says where the arguments of a manager were read that is no pod.
type Arguments struct {
	Component string `json:"component"`
	From      string `json:"from"`
}

// Interval is a time without a change of owners.
type Interval struct {
	From        string   `json:"from"`
	To          string   `json:"to"`
	Count       string   `json:"count"`
	Owners      []string `json:"owners"`
	Controllers []string `json:"controllers,omitempty"`
	Why         string   `json:"why,omitempty"`
	// Length is in seconds, from which the bounds follow.
	Length float64 `json:"-"`
}

// Handover is a change of the migration lease's holder.
type Handover struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	LastSign  string  `json:"lastSign"`
	FirstSign string  `json:"firstSign"`
	Seconds   float64 `json:"seconds"`
}

// unknown is printed where nothing is known.
const unknown = "unknown"

// moments are written to the millisecond; no one looks more often.
const moment = "2006-01-02T15:04:05.000Z07:00"

// NewOwnership describes a timeline. from is where the arguments of a
// kube-controller-manager were read that is no pod.
func NewOwnership(intervals []check.Interval, handovers []check.Handover, from []string) Ownership {
	out := Ownership{TypeMeta: Type("Ownership"), Intervals: append([]Interval{}, lists.Map(intervals, newInterval)...), Handovers: []Handover{}}
	for _, h := range handovers {
		out.Handovers = append(out.Handovers, Handover{
			cmp.Or(h.From, unknown), cmp.Or(h.To, unknown), h.LastSign.UTC().Format(moment), h.FirstSign.UTC().Format(moment),
			milli(h.FirstSign.Sub(h.LastSign).Seconds()),
		})
	}
	out.Arguments = lists.Map(from, func(f string) Arguments { return Arguments{observed.KubeManager, f} })
	owners, blind := check.Seconds(intervals)
	out.Seconds = map[string]float64{"0": milli(owners[0]), "1": milli(owners[1]), "2": milli(owners[2]), unknown: milli(blind)}
	return out
}

func milli(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

func newInterval(i check.Interval) Interval {
	out := Interval{From: i.From.UTC().Format(moment), To: i.To.UTC().Format(moment), Count: strconv.Itoa(i.Count), Owners: append([]string{}, i.Owners...), Why: i.Unknown, Length: milli(i.To.Sub(i.From).Seconds()),
		Controllers: lists.Map(i.Doubled, func(c check.Controller) string { return string(c) })}
	if i.Unknown != "" {
		out.Count = unknown
	}
	return out
}

// WriteInterval writes one line of a timeline for people.
func WriteInterval(w io.Writer, p Palette, i check.Interval) {
	line := fmt.Sprintf("%s  %8.1f s  ", i.From.Local().Format(time.TimeOnly), i.To.Sub(i.From).Seconds())
	switch shown := newInterval(i); {
	case i.Unknown != "":
		line += p.paint(yellow, unknown+": "+i.Unknown)
	case i.Count == 2:
		line += p.paint(red, "two managers run "+strings.Join(shown.Controllers, ", ")+": "+strings.Join(shown.Owners, ", "))
	case i.Count == 1:
		line += p.paint(green, strings.Join(shown.Owners, ", "))
	case len(shown.Owners) > 0:
		line += p.paint(yellow, "some have no manager, the others: "+strings.Join(shown.Owners, ", "))
	default:
		line += p.paint(yellow, "no manager")
	}
	fmt.Fprintln(w, line)
}

// WriteOwnership writes the end of a timeline for people.
func WriteOwnership(w io.Writer, o Ownership) {
	fmt.Fprintln(w)
	for _, h := range o.Handovers {
		fmt.Fprintf(w, "handover from %s to %s: %.1f s between the last renewal of the one and the first of the other\n", h.From, h.To, h.Seconds)
	}
	for _, a := range o.Arguments {
		fmt.Fprintf(w, "arguments of %s: from %s\n", a.Component, a.From)
	}
	fmt.Fprintf(w, "seconds with no manager: %.1f, one: %.1f, two: %.1f, unknown: %.1f\n", o.Seconds["0"], o.Seconds["1"], o.Seconds["2"], o.Seconds[unknown])
}

// Verification is the verdict on a live cluster, for programs.
type Verification struct {
	TypeMeta
	OK         bool                `json:"ok"`
	Cluster    string              `json:"cluster,omitempty"`
	Version    string              `json:"version"`
	Stage      string              `json:"stage"`
	Reached    string              `json:"reached"`
	Nodes      []check.Node        `json:"nodes"`
	Lease      check.Lease         `json:"lease"`
	Findings   []transform.Finding `json:"findings"`
	NotChecked []check.NotChecked  `json:"notChecked"`
}

// NewVerification describes a verdict.
func NewVerification(o *observed.Observation, c check.Choice, v check.Verdict) Verification {
	out := Verification{
		TypeMeta: Type("Verification"), OK: v.OK(), Version: o.Version, Stage: c.Check.Stage, Reached: v.Reached,
		Nodes: append([]check.Node{}, v.Nodes...), Findings: Findings(v.Findings), NotChecked: append([]check.NotChecked{}, v.NotChecked...),
		Lease: v.Lease,
	}
	if out.Lease.Owner == "" || v.Lease.Life == observed.Dead {
		out.Lease.Owner = "none"
	}
	return out
}

// WriteVerification writes a verdict for people.
func WriteVerification(w io.Writer, p Palette, v Verification) {
	if v.Cluster != "" {
		fmt.Fprintf(w, "cluster           %s\n", v.Cluster)
	}
	if v.Version != "" {
		fmt.Fprintf(w, "Kubernetes        %s\n", v.Version)
	}
	fmt.Fprintf(w, "stage reached     %s\n", cmp.Or(v.Reached, "none"))
	fmt.Fprintf(w, "migration lease   %s\n", leaseText(v.Lease))
	good := lists.Where(v.Nodes, func(n check.Node) bool { return n.OK })
	fmt.Fprintf(w, "nodes             %d of %d ok\n\n", len(good), len(v.Nodes))
	WriteFindings(w, p, v.Findings, "")
	for _, why := range lists.Distinct(lists.Map(v.NotChecked, func(n check.NotChecked) string { return n.Why })) {
		rules := rulesOf(v.NotChecked, func(n check.NotChecked) bool { return n.Why == why })
		fmt.Fprintln(w, p.Wrap("not checked, because "+why+": "+rules, ""))
	}
	needed := v.needed()
	switch {
	case v.OK:
		fmt.Fprintln(w, p.paint(green, "ok"))
	case needed != "":
		what := "whether the stage " + v.Stage + " is done"
		if v.Stage == "" {
			what = "whether the cloud controllers run"
		}
		fmt.Fprintln(w, p.paint(red, "not ok")+": "+what+" is unknown without "+needed)
	default:
		fmt.Fprintln(w, p.paint(red, "not ok"))
	}
}

// needed are the rules that had nothing to check, and without which the verdict is unknown.
func (v Verification) needed() string {
	return rulesOf(v.NotChecked, func(n check.NotChecked) bool { return n.Needed })
}

func rulesOf(all []check.NotChecked, is func(check.NotChecked) bool) string {
	return list(lists.Map(lists.Where(all, is), func(n check.NotChecked) string { return n.Rule }))
}

// leaseText is who holds the migration lease.
func leaseText(l check.Lease) string {
	switch {
	case l.Holder == "" && l.Life == observed.Unknown:
		return "not seen"
	case l.Holder == "":
		return "no holder"
	case l.Owner == "none":
		return fmt.Sprintf("neither manager: held by %s (%s)", l.Holder, l.Life)
	}
	return fmt.Sprintf("%s (%s)", l.Owner, l.Life)
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

func verdict(ok bool) markup {
	if ok {
		return badge("ok")
	}
	return element("span", "not ok", "class", "state error")
}

// Subject is the verdict on a live cluster as one of the results.
func (v Verification) Subject(title string) Subject {
	found := slices.Clone(v.Findings)
	if !v.OK && !slices.ContainsFunc(found, transform.Finding.Stops) {
		found = append(found, transform.Finding{
			Rule: "not-checked", Severity: transform.Error, Path: title, Message: "what the stage requires is not in the dump: " + v.needed(), Fix: "print the missing kinds as well",
		})
	}
	s := FindingSubject(title, "", 0, found)
	s.Content = v.page
	return s
}

// OwnershipTable are the columns of a summary of a timeline.
var OwnershipTable = []string{"Cluster", "No manager", "One", "Two", "Unknown"}

// Subject is a timeline as one of the results.
func (o Ownership) Subject(title string) Subject {
	seconds := lists.Map([]string{"0", "1", "2", unknown}, func(count string) string { return fmt.Sprintf("%.1f s", o.Seconds[count]) })
	return Subject{Title: title, Cells: append([]string{title}, seconds...), Content: o.page}
}
