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
func Stopping(all []Finding) []Finding {
	return lists.Where(all, Finding.Stops)
}

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
