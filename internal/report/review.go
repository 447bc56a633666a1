// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Review is a change of clusters, for programs; its fields are documented in docs/json.md.
type Review struct {
	TypeMeta
	Base     string            `json:"base"`
	Read     Read              `json:"read"`
	Clusters []ReviewedCluster `json:"clusters"`
	// Findings are about the change as a whole; those of clusters are theirs.
	Findings []transform.Finding `json:"findings"`
	Errors   []Problem           `json:"errors"`
}

// Found adds findings about the change as a whole.
func (r *Review) Found(list ...transform.Finding) {
	r.Findings = append(r.Findings, Findings(list)...)
}

// Read is what a review has read, and what it has not.
type Read struct {
	Before  Counted        `json:"before"`
	After   Counted        `json:"after"`
	Skipped map[string]int `json:"skipped"` // changed files, by the reason
}

// Counted are the files of a version that were read, and their documents.
type Counted struct {
	Files     int `json:"files"`
	Documents int `json:"documents"`
}

// Line is the sentence about it.
func (r Read) Line() string {
	line := fmt.Sprintf("files read: %d before the change, %d after it; documents: %d, %d; changed files skipped:", r.Before.Files, r.After.Files, r.Before.Documents, r.After.Documents)
	for _, reason := range slices.Sorted(maps.Keys(r.Skipped)) {
		line += fmt.Sprintf(" %d (%s),", r.Skipped[reason], reason)
	}
	if len(r.Skipped) == 0 {
		return line + " 0"
	}
	return strings.TrimSuffix(line, ",")
}

// ReviewedCluster is what a change does to one cluster.
type ReviewedCluster struct {
	Name      string              `json:"name"`
	Namespace string              `json:"namespace"`
	Format    string              `json:"distro"`
	Change    review.Kind         `json:"change"`
	Version   string              `json:"version"`
	Was       string              `json:"versionBefore,omitempty"`
	Source    Source              `json:"source"`
	Moved     string              `json:"fileBefore,omitempty"`
	Stages    []ReviewedStage     `json:"stages"`
	Undone    []string            `json:"undone"`
	Next      string              `json:"next"`
	Counts    plan.Counts         `json:"counts"`
	manual    bool                // the next stage
	Classes   []review.Class      `json:"classes"`
	Edits     []ReviewedEdit      `json:"edits"`
	Findings  []transform.Finding `json:"findings"`
}

// ReviewedStage is one that a change performs.
type ReviewedStage struct {
	Name       string          `json:"name"`
	Why        string          `json:"why"`
	Superseded bool            `json:"superseded,omitempty"` // a later stage of the same change leaves nothing of it
	Before     []action.Action `json:"before"`               // what has to be done before the change is merged
}

// ReviewedEdit is a change outside of the configuration of machine classes.
type ReviewedEdit struct {
	File   string      `json:"file"`
	Line   int         `json:"line"`
	Path   string      `json:"path"`
	Change review.Kind `json:"change"`
}

// NewReviewed turns a change into its form for programs. was is the name that its file had
// before; "" for the same.
func NewReviewed(c review.Change, was string) ReviewedCluster {
	side := cmp.Or(c.After, c.Before)
	edits := lists.Map(c.Edits, func(e review.Edit) ReviewedEdit {
		return ReviewedEdit{e.At.Document().File(), e.At.Line(), redact.Text(e.Path), e.How}
	})
	stages := lists.Map(c.Stages, func(s plan.Step) ReviewedStage {
		superseded := slices.ContainsFunc(c.Stages, func(later plan.Step) bool { return slices.Contains(s.Stage.SupersededBy, later.Stage.Name) })
		return ReviewedStage{s.Stage.Name, s.Stage.Why, superseded, append(append([]action.Action{}, s.Stage.Prepare.Actions...), s.Stage.Before...)}
	})
	return ReviewedCluster{
		Name: c.Cluster.Name, Namespace: c.Cluster.Namespace, Format: c.Cluster.Format, Change: c.Kind,
		Version: c.Cluster.Version, Was: c.Version, Source: SourceOf(side.Docs[0]), Moved: was, Next: c.Left.Next, Counts: c.Left.Counts, manual: c.Left.Manual,
		Stages: append([]ReviewedStage{}, stages...), Undone: append([]string{}, c.Undone...), Classes: append([]review.Class{}, lists.Map(c.Classes, newReviewedClass)...),
		Edits: append([]ReviewedEdit{}, edits...), Findings: Findings(c.Findings),
	}
}

func newReviewedClass(c review.Class) review.Class {
	keys := lists.Map(c.Keys, func(k review.Key) review.Key {
		return review.Key{Name: k.Name, Before: redact.Value(k.Name, k.Before), After: redact.Value(k.Name, k.After)}
	})
	return review.Class{Name: redact.Text(c.Name), Labels: c.Labels, Kind: c.Kind, Keys: append([]review.Key{}, keys...)}
}

// changedLines are what changes of a key: for lists, the arguments that are removed and added.
func changedLines(k review.Key) []string {
	before, wasList := k.Before.([]any)
	after, isList := k.After.([]any)
	if (k.Before != nil && !wasList) || (k.After != nil && !isList) {
		return append(sided("-", k.Before), sided("+", k.After)...)
	}
	removed := lists.Flat(without(before, after), func(v any) []string { return sided("-", v) })
	return append(removed, lists.Flat(without(after, before), func(v any) []string { return sided("+", v) })...)
}

func sided(sign string, v any) []string {
	if v == nil {
		return nil
	}
	return []string{sign + " " + yamledit.JSON(v)}
}

// without returns the members of a list that another one does not have as often.
func without(list, other []any) []any {
	rest := lists.Map(other, yamledit.JSON)
	var left []any
	for _, v := range list {
		if i := slices.Index(rest, yamledit.JSON(v)); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		left = append(left, v)
	}
	return left
}

func (c ReviewedCluster) plan() Plan {
	return Plan{Format: c.Format, Namespace: c.Namespace, Name: c.Name, Version: c.Version, Source: c.Source}
}

// release is the one after the change, and the one before it if that is another.
func (c ReviewedCluster) release() string {
	if c.Was == "" {
		return release(c.plan())
	}
	return c.Was + " → " + cmp.Or(c.Version, "unknown release")
}

// summary is what the change does, in one line.
func (c ReviewedCluster) summary() string {
	switch {
	case c.Change == review.Added:
		return "new cluster"
	case c.Change == review.Removed:
		return "removed cluster"
	case len(c.Stages) > 0:
		return "performs " + list(lists.Map(c.Stages, func(s ReviewedStage) string { return s.Name }))
	case len(c.Undone) > 0:
		return "undoes " + list(c.Undone)
	}
	return "no stage"
}

// WriteReview writes a change of clusters in the form of the output.
func (c *Collector) WriteReview(r Review) {
	all := lists.Flat(r.Clusters, func(c ReviewedCluster) []transform.Finding { return c.Findings })
	count := counts{}
	for _, f := range append(all, r.Findings...) {
		if !f.Accepted {
			count[f.Severity]++
		}
		if f.Stops() {
			c.Code = max(c.Code, transform.ExitFound)
		}
	}
	r.Errors = c.Errors
	switch {
	case c.Reports():
		c.Findings, c.Read = r.Findings, r.Read.Line()
		for _, one := range r.Clusters {
			c.Keep(one.Subject())
		}
		c.writeResults(ReviewTable)
	case c.OutputFormat != "text":
		c.dump(r)
	default:
		text := bufio.NewWriter(c.Out)
		for _, one := range r.Clusters {
			writeReview(text, c.Palette, one)
		}
		WriteFindings(text, c.Palette, r.Findings, "")
		text.Flush() // the output keeps its errors
		fmt.Fprintln(c.Err, r.Read.Line())
		fmt.Fprintf(c.Err, "clusters changed: %d; %s\n", len(r.Clusters), count)
	}
}

// writeReview writes what a change does to a cluster, for people.
func writeReview(w io.Writer, p Palette, c ReviewedCluster) {
	fmt.Fprintf(w, "%s  %s  %s\n", p.paint(bold, title(c.plan())), c.release(), p.paint(dim, place(c.Source)))
	if c.Moved != "" {
		fmt.Fprintf(w, "  was in %s\n", words(c.Moved))
	}
	fmt.Fprintf(w, "  %s\n", c.summary())
	for _, s := range c.Stages {
		writeReviewedStage(w, p, s)
	}
	if c.Next != "" {
		fmt.Fprintf(w, "  next stage: %s\n", nextStage(c.Next, c.manual))
	}
	for _, class := range alike(c.Classes) {
		writeReviewedClass(w, p, class)
	}
	for _, e := range c.Edits {
		fmt.Fprintf(w, "\n  %s %s  %s\n", words(e.Path), e.Change, p.paint(dim, fmt.Sprintf("%s:%d", e.File, e.Line)))
	}
	fmt.Fprintln(w)
	if len(c.Findings) > 0 {
		WriteFindings(w, p, c.Findings, "  ")
		fmt.Fprintln(w)
	}
}

func writeReviewedStage(w io.Writer, p Palette, s ReviewedStage) {
	fmt.Fprintf(w, "\n  %s\n", p.paint(bold, s.Name))
	if s.Superseded {
		fmt.Fprintln(w, p.Wrap("A later stage of the same change leaves nothing of it.", "    "))
		return
	}
	fmt.Fprintln(w, p.Wrap(s.Why, "    "))
	for _, a := range s.Before {
		fmt.Fprintln(w, p.Wrap("Before the merge: "+strings.TrimPrefix(a.Why, "before the edit, "), "    "))
	}
}

// alike joins the classes that change alike, for people.
func alike(classes []review.Class) []review.Class {
	var joined []review.Class
	for _, c := range classes {
		c.Name = strings.TrimSpace(c.Name + " " + roles(c.Labels))
		same := func(o review.Class) bool { return o.Kind == c.Kind && reflect.DeepEqual(o.Keys, c.Keys) }
		if i := slices.IndexFunc(joined, same); i >= 0 {
			joined[i].Name += ", " + c.Name
			continue
		}
		joined = append(joined, c)
	}
	return joined
}

func writeReviewedClass(w io.Writer, p Palette, c review.Class) {
	fmt.Fprintf(w, "\n  class %s", p.paint(bold, c.Name))
	if c.Kind != review.Changed {
		fmt.Fprintf(w, " %s\n", c.Kind)
		return
	}
	fmt.Fprintln(w)
	for _, k := range c.Keys {
		fmt.Fprintf(w, "    %s\n", p.paint(cyan, k.Name))
		for _, line := range changedLines(k) {
			fmt.Fprintf(w, "      %s\n", p.paint(diffPartOf(line).color, line))
		}
	}
}

// writeMarkdown writes the details of a change.
func (c ReviewedCluster) writeMarkdown(w io.Writer) {
	fmt.Fprintf(w, "%s, from %s: %s\n\n", inline(c.release()), code(place(c.Source)), inline(c.summary()))
	io.WriteString(w, markdownFindings(c.Findings))
	for _, s := range c.Stages {
		fmt.Fprintf(w, "**%s.** %s\n\n", s.Name, inline(s.Why))
		for _, a := range s.Before {
			fmt.Fprintf(w, "- Before the merge: %s\n", inline(strings.TrimPrefix(a.Why, "before the edit, ")))
		}
		if len(s.Before) > 0 {
			fmt.Fprintln(w)
		}
	}
	if c.Next != "" {
		fmt.Fprintf(w, "Next: %s\n\n", nextStage(c.Next, c.manual))
	}
	for _, class := range alike(c.Classes) {
		var lines []string
		for _, k := range class.Keys {
			lines = append(lines, "  "+k.Name+":")
			lines = append(lines, changedLines(k)...)
		}
		kind := ":"
		if class.Kind != review.Changed {
			kind = " " + string(class.Kind)
		}
		fmt.Fprintf(w, "Class %s%s\n\n", inline(class.Name), kind)
		if len(lines) > 0 {
			fmt.Fprintln(w, fenced("diff", strings.Join(lines, "\n")))
		}
	}
	for _, e := range c.Edits {
		fmt.Fprintf(w, "- %s %s, %s\n", code(e.Path), e.Change, code(fmt.Sprintf("%s:%d", e.File, e.Line)))
	}
	if len(c.Edits) > 0 {
		fmt.Fprintln(w)
	}
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

// Subject is a reviewed cluster as one of the results.
func (c ReviewedCluster) Subject() Subject {
	s := Subject{Title: title(c.plan()), File: c.Source.File, Line: c.Source.Line, Findings: once(c.Findings)}
	s.Cells = []string{s.Title, c.release(), c.summary(), counted(s.Findings)}
	var b strings.Builder
	c.writeMarkdown(&b)
	s.Details = b.String()
	s.Content = c.page
	return s
}
