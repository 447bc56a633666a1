// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Severity reports what a finding stops.
type Severity string

// An error stops the stage that it guards, a warning and a note do not.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Finding is what a rule says about one place. It never quotes a secret.
type Finding struct {
	Rule string `json:"rule"`
	// FormerRule is the name that the rule had in the release before; "" if it is the same.
	FormerRule string   `json:"formerRule,omitempty"`
	Severity   Severity `json:"severity"`
	File       string   `json:"file"`
	Line       int      `json:"line"`
	Path       string   `json:"path"`
	Message    string   `json:"message"`
	Fix        string   `json:"fix"`
	// Accepted means that the operator accepted the rule.
	Accepted bool `json:"accepted,omitempty"`
	// Offset is that of the document in its file, which distinguishes it from others there.
	Offset int `json:"-"`
}

// Stops reports whether the finding stops the stage that it guards.
func (f Finding) Stops() bool { return f.Severity == Error && !f.Accepted }

// Stopping returns the findings that stop.
func Stopping(all []Finding) []Finding { return lists.Where(all, Finding.Stops) }

// FindingAt returns a finding about a node.
func FindingAt(n yamledit.Node, message, fix string) Finding {
	return Finding{File: n.Document().File(), Line: n.Line(), Path: n.Path(), Message: message, Fix: fix, Offset: n.Document().Chunk().Offset}
}

// Findings are those that a check adds, in their order.
type Findings []Finding

// Add adds findings and returns the last one, to be completed.
func (f *Findings) Add(found ...Finding) *Finding {
	if *f = append(*f, found...); len(*f) == 0 {
		return nil
	}
	return &(*f)[len(*f)-1]
}

// At adds a finding about a node.
func (f *Findings) At(n yamledit.Node, message, fix string) *Finding {
	return f.Add(FindingAt(n, message, fix))
}

// On adds a finding about what is not in a document.
func (f *Findings) On(path, message, fix string) *Finding {
	return f.Add(Finding{Path: path, Message: message, Fix: fix})
}

// Report adds a finding about a place, as Findings.At does.
type Report func(at yamledit.Node, message, fix string) *Finding

// Rule is one check with a stable id. The table of a format's rules drives what
// is checked, how severe it is, what it stops, and the documentation.
type Rule struct {
	ID       string
	Severity Severity
	// Guards names the stages that an error stops; the rule checks the document
	// as it is after the stage.
	Guards []string
	// OtherDocument means that the rule is about a document that was not given.
	OtherDocument bool
	// Fixable means that lint --fix can correct what the rule finds.
	Fixable bool
	Doc     string // one sentence for docs/rules.md
	Reason  Reason
}

// formerNames are those that rules had in the release before. They still accept and explain the rules.
var formerNames = map[string]string{
	"cloud-controllers-twice":   "two-owners",
	"cloud-controllers-nowhere": "lease-ownerless",
	"lease-wrong-holder":        "lease-wrong-owner",
}

// FormerName is the name that a rule had in the release before; "" if it is the same.
func FormerName(id string) string { return formerNames[id] }

// Acceptable reports whether --accept may accept an error.
func (r Rule) Acceptable() bool { return r.Reason.Accept != "" }

// Is reports whether the rule has, or had, a name.
func (r Rule) Is(name string) bool { return r.ID == name || name != "" && FormerName(r.ID) == name }

// WithGuards is the rule for a format in which an error stops other stages.
func (r Rule) WithGuards(stages ...string) Rule {
	r.Guards = stages
	return r
}

// WithDoc is the rule for a format in which it finds other things.
func (r Rule) WithDoc(doc string) Rule {
	r.Doc = doc
	return r
}

// Report fills in what the rule knows about its findings. A finding that has a
// severity of its own keeps it.
func (r Rule) Report(found []Finding, accepted []string) []Finding {
	for i := range found {
		f := &found[i]
		f.Rule = r.ID
		f.Severity = cmp.Or(f.Severity, r.Severity)
		f.Accepted = r.Acceptable() && slices.ContainsFunc(accepted, r.Is)
	}
	return found
}

// Unseen divides the findings about a cluster into those about its documents, and those
// about documents that were not given: what cannot be seen is said, and not assumed.
func Unseen(d Format, all []Finding) (own, unseen []Finding) {
	isUnseen := func(f Finding) bool {
		return slices.ContainsFunc(d.Rules, func(r Rule) bool { return r.OtherDocument && r.ID == f.Rule })
	}
	return lists.Where(all, func(f Finding) bool { return !isUnseen(f) }), lists.Where(all, isUnseen)
}

// Unblock reports what to do about findings that stop, with rules that they may be of: it
// offers --accept only for a rule that takes it.
func Unblock(found []Finding, of []Rule) string {
	var accept []string
	refused := false
	for _, f := range Stopping(found) {
		if !slices.ContainsFunc(of, func(r Rule) bool { return r.ID == f.Rule && r.Acceptable() }) {
			refused = true
		} else if flag := "--accept " + f.Rule; !slices.Contains(accept, flag) {
			accept = append(accept, flag)
		}
	}
	switch flags := strings.Join(accept, " "); {
	case flags == "":
		return "correct them; none of them can be accepted"
	case refused:
		return "correct them; not all of them can be accepted, but some with " + flags
	default:
		return "correct them, or accept them with " + flags
	}
}

// Reason is what a user needs to know before a finding of a rule is corrected or accepted. Every rule
// of the tool has one.
type Reason struct {
	Why    string `json:"why"`    // what happens otherwise
	Source string `json:"source"` // where that can be read
	Repair string `json:"repair"`
	Accept string `json:"accept,omitempty"` // when the rule can be accepted; empty if never
}

// Where facts can be read that several rules rest on.
const (
	SourcePlanner       = "rancher/rancher pkg/capr/planner/config.go, release/v2.8: one value per key, the last entry that matches wins"
	SourceMigration     = "kubernetes/enhancements KEP-2436; kubernetes/kubernetes cmd/kube-controller-manager/app/controllermanager.go, v1.26"
	SourceConfiguration = "kubernetes/kubernetes staging/src/k8s.io/controller-manager/config and pkg/leadermigration/config, v1.21 to v1.36"
	SourceNodeNames     = "rancher/rke2 pkg/rke2/rke2_linux.go at v1.28.9+rke2r1, v1.29.11+rke2r1 and v1.31.4+rke2r1"
	SourceRKE           = "rancher/rke cluster/defaults.go and cluster/plan.go, v1.8"
	SourceRemovals      = "kubernetes/kubernetes CHANGELOG/CHANGELOG-1.27.md: the in-tree AWS provider and its gates are removed"
)

// Because is the rule with its reason.
func (r Rule) Because(why, source, repair, accept string) Rule {
	r.Reason = Reason{why, source, repair, accept}
	return r
}

// Checked is a row of a format's table: what is documented, what is checked, and
// what can be corrected without a decision. A rule without Check refuses a
// document before there is a cluster C to check.
type Checked[C any] struct {
	Rule
	Check func(C, *Findings)
	Fix   func(C) []Correction
	// Lacks says what the rule cannot do without and was not seen; "" for nothing. It is of rules of live clusters.
	Lacks func(C) string
	// Needed reports whether what was asked of a live cluster is unknown without the rule; nil for never.
	Needed func(C) bool
}

// Correction queues the correction of one finding.
type Correction = func(*yamledit.Edit)

// WithGuards is the row for a format in which an error stops other stages.
func (r Checked[C]) WithGuards(stages ...string) Checked[C] {
	r.Rule = r.Rule.WithGuards(stages...)
	return r
}

// WithDoc is the row for a format in which it finds other things.
func (r Checked[C]) WithDoc(doc string) Checked[C] {
	r.Rule = r.Rule.WithDoc(doc)
	return r
}

// Table joins rows to a table in the order of their IDs.
func Table[C any](rows ...[]Checked[C]) []Checked[C] {
	return slices.SortedFunc(slices.Values(slices.Concat(rows...)), func(a, b Checked[C]) int { return strings.Compare(a.ID, b.ID) })
}

// RulesOf returns the rules of a table.
func RulesOf[C any](table []Checked[C]) []Rule {
	return lists.Map(table, func(r Checked[C]) Rule {
		r.Fixable = r.Fix != nil
		return r.Rule
	})
}

// FindingsOf returns what the rules that guard a stage say about a cluster; with
// "" what all rules say.
func FindingsOf[C any](table []Checked[C], c C, stage string, accepted []string) []Finding {
	var all []Finding
	for _, r := range table {
		if r.Check != nil && (stage == "" || slices.Contains(r.Guards, stage)) {
			var found Findings
			r.Check(c, &found)
			all = append(all, r.Report(found, accepted)...)
		}
	}
	return all
}

// FixesOf returns the corrections that the rules of a table know.
func FixesOf[C any](table []Checked[C], c C) []Fix {
	fixable := lists.Where(table, func(r Checked[C]) bool { return r.Fix != nil })
	return lists.Flat(fixable, func(r Checked[C]) []Fix {
		return lists.Map(r.Fix(c), func(queue Correction) Fix { return Fix{r.ID, queue} })
	})
}

// Fix is the mechanical correction of one finding, in the first document of a cluster. The edit fails where it takes a
// hand.
type Fix struct {
	Rule  string
	Queue func(*yamledit.Edit)
}

// Fixer is a Cluster that knows corrections of its findings.
type Fixer interface {
	Cluster
	Fixes() []Fix
}
