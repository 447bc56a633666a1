// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Side is a cluster as it is before a change, or after it.
type Side struct {
	Distro transform.Distro
	Docs   []*yamledit.Document // the one that names the cluster first
	Beside []*yamledit.Document // that rules read
}

// Identity names the cluster.
func (s *Side) Identity() transform.Identity { return s.Distro.Identify(s.Docs[0]) }

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
	Undone   []string // stages that it removes
	Next     string   // the stage that is next after the change; "" for none
	Classes  []Class
	Edits    []Edit // outside of the configuration of machine classes
	Findings []transform.Finding
}

// Stage is one that a change performs.
type Stage struct {
	Name, Why string
	// Superseded means that a later stage of the same change leaves nothing of it.
	Superseded bool
	// Manual lists what has to be done before the change is merged.
	Manual []transform.Action
}

// Edit is a change of a document.
type Edit struct {
	At   yamledit.Node // after the change, or the nearest one to what was removed
	Path string
	How  Kind
}

// Evaluate compares a cluster before and after a change. One of the sides may be nil.
func Evaluate(before, after *Side, target transform.Target) Change {
	switch {
	case before == nil:
		return Change{Cluster: after.full(target), Kind: Added, After: after}
	case after == nil:
		return removed(before, target)
	}
	c := &comparison{before: before, after: after, target: target}
	return c.evaluate()
}

// full is the identity with its release.
func (s *Side) full(t transform.Target) transform.Identity {
	if c, _ := s.Distro.Lint(s.all(), t); c != nil {
		return c.Identity()
	}
	return s.Identity()
}

// all are the documents that rules read.
func (s *Side) all() []*yamledit.Document { return slices.Concat(s.Docs, s.Beside) }

func removed(before *Side, t transform.Target) Change {
	f := transform.FindingAt(before.Docs[0].Root(), before.Identity().Title()+" is removed, with its documents in "+before.Docs[0].File(), "check that the cluster is meant to be deleted or to be described elsewhere")
	found := clusterRemoved.Report([]transform.Finding{f}, t.Accept)
	if m := before.manager(t); m.Exists() && before.Distro.Span.Several { // a manifest runs in a cluster that stays
		found = append(ccmRemoved.Report([]transform.Finding{managerGone(m)}, t.Accept), found...)
	}
	return Change{Cluster: before.full(t), Kind: Removed, Before: before, Findings: found}
}

// Same reports whether both sides have the same bytes.
func Same(before, after *Side) bool {
	same := func(a, b *yamledit.Document) bool { return bytes.Equal(a.Bytes(), b.Bytes()) }
	return slices.EqualFunc(before.all(), after.all(), same)
}
