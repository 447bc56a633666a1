// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Side is a cluster as it is before a change, or after it.
type Side struct {
	Format  transform.Format
	Docs    []*yamledit.Document // the one that names the cluster first
	Related []*yamledit.Document // that rules read
	Patch   bool                 // of a kustomization, and no cluster of its own
	Uses    []kustomize.Use      // what overlays make of Docs
	Unnamed bool                 // its file has a name that no search looks for
}

// Identity names the cluster.
func (s *Side) Identity() transform.Identity { return s.Format.Identify(s.Docs[0]) }

// Kind is what a change does to a cluster as a whole.
type Kind string

// The kinds of changes.
const (
	Changed   Kind = "changed"
	Added     Kind = "added"
	Removed   Kind = "removed"
	Unchanged Kind = "unchanged" // its machines and its migration: comments, order and file names may change
)

// Change is what a change does to one cluster.
type Change struct {
	Cluster  transform.Identity // with the release after the change
	Kind     Kind
	Before   *Side  // nil for a cluster that the change adds
	After    *Side  // nil for a cluster that it removes
	Version  string // before the change, if the change has another one
	Stages   []Stage
	Undone   []string     // stages that it removes
	Left     plan.Summary // after the change
	Classes  []Class
	Edits    []Edit // outside of the configuration of machine classes
	Findings []transform.Finding
}

// Stage is one that a change performs.
type Stage struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	// Superseded means that a later stage of the same change leaves nothing of it.
	Superseded bool `json:"superseded,omitempty"`
	// Before lists what has to be done before the change is merged.
	Before []action.Action `json:"before"`
}

// Edit is a change of a document.
type Edit struct {
	At   yamledit.Node // after the change, or the nearest one to what was removed
	Path string
	How  Kind
}

// Evaluate compares a cluster before and after a change.
func Evaluate(p Pair, target transform.Target) Change {
	switch {
	case p.Before == nil:
		return added(p.After, target)
	case p.After == nil:
		return removed(p, target)
	}
	out := (&comparison{before: p.Before, after: p.After, target: target, compared: map[[2]*transform.Setting][]otherValue{}}).evaluate()
	if p.Away != "" {
		f := transform.FindingAt(p.After.Docs[0].Root(), p.After.Identity().Title()+" moves out of the reviewed paths", "add "+p.Away+" to the paths of review")
		f.Severity, out.Kind = transform.Warning, Changed
		out.Findings = append(out.Findings, clusterRemoved.Report([]transform.Finding{f}, target.Accept)...)
	}
	return out
}

// added reports the errors of a new cluster, whether it is to be migrated or not.
func added(after *Side, t transform.Target) Change {
	out := Change{Cluster: after.full(t), Kind: Added, After: after}
	if after.Patch {
		return out
	}
	if c, err := after.Format.Lint(after.all(), t); err != nil && c == nil && len(transform.NotMigratableIn(err)) == 0 {
		out.Findings = planLost.Report([]transform.Finding{placed(err, after.Docs[0].Root(), "")}, t.Accept)
	}
	own := lists.Where(lint(after, t), func(f transform.Finding) bool { return f.Rule != transform.RuleNotMigratable })
	out.Findings = append(out.Findings, own...)
	return out
}

// full is the identity with its release.
func (s *Side) full(t transform.Target) transform.Identity {
	if c, _ := s.Format.Lint(s.all(), t); c != nil {
		return c.Identity()
	}
	return s.Identity()
}

// all are the documents that rules read.
func (s *Side) all() []*yamledit.Document { return slices.Concat(s.Docs, s.Related) }

// removed reports a cluster that a change removes: in the open, or by another name of it or of its file.
func removed(p Pair, t transform.Target) Change {
	before := p.Before
	title := before.Identity().Title() + " is removed, "
	f := transform.FindingAt(before.Docs[0].Root(), title+"with its documents in "+before.Docs[0].File(), "check that the cluster is meant to be deleted or to be described elsewhere")
	switch {
	case p.Heir != nil:
		f.Message, f.Fix = title+"and "+p.Heir.Identity().Title()+" in "+p.Heir.place()+" takes its place: with another name it is another cluster, so the old one is deleted, with its machines", "keep the name; or remove the one and add the other in separate pull requests"
	case p.Away != "":
		f.Message, f.Fix = title+"because "+p.Away+" is a name that is not read: what applies the files deletes the cluster, or no change of it is reviewed any more", "keep a name that is read, such as "+before.Docs[0].File()+"; to delete the cluster, delete the file"
	case remains(before.Docs[0], p.Left):
		f.Message, f.Fix = title+"and its file still has a document in its place, which is none of a cluster or cannot be read", "correct that document, or remove it as a whole"
	default:
		f.Severity = transform.Warning
	}
	found := clusterRemoved.Report([]transform.Finding{f}, t.Accept)
	if m := before.manager(t); m.Exists() && before.Format.Grouping.Several { // a manifest runs in a cluster that stays
		found = append(ccmRemoved.Report([]transform.Finding{managerRemoved(m)}, t.Accept), found...)
	}
	return Change{Cluster: before.full(t), Kind: Removed, Before: before, Findings: found}
}

// remains reports whether a text has a document that takes the place of another one: an object of its kind and name, for one
// without a kind any mapping without, and what cannot be read.
func remains(doc *yamledit.Document, text []byte) bool {
	object := func(d *yamledit.Document) (of [2]string) {
		of[0], _ = d.Root().Get("kind").String()
		if of[0] != "" {
			of[1], _ = d.Root().Get("metadata", "name").String()
		}
		return of
	}
	return slices.ContainsFunc(yamledit.Split(doc.File(), text), func(c yamledit.Chunk) bool {
		now, err := transform.Parse(c)
		return err != nil || now.Root().IsMap() && object(now) == object(doc)
	})
}

// Same reports whether both sides have the same bytes.
func Same(before, after *Side) bool {
	same := func(a, b *yamledit.Document) bool { return bytes.Equal(a.Bytes(), b.Bytes()) }
	return slices.EqualFunc(before.all(), after.all(), same)
}
