// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"path"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// Pair is a cluster before a change and after it; one of the sides may be nil.
type Pair struct {
	Before, After *Side
	Heir          *Side  // an added cluster with the file or the specification of a removed one
	Away          string // what the file is renamed to, if that is not read, or not one of the reviewed paths
}

// Pairs finds out which clusters are the same: first those with one name in one file, then
// those that moved to another file, and then those whose name is not that of an object. was returns
// the name that a file had before the change. The pairs come in the order after the change, removed
// clusters last.
func Pairs(before, after []*Side, was func(file string) string) []Pair {
	m := matching{before: before, of: map[*Side]*Side{}, taken: map[*Side]bool{}}
	is := func(b, a *Side) bool { return a.Identity().Is(b.Identity()) }
	near := func(b, a *Side) bool { return file(b) == was(file(a)) }
	m.match(after, func(b, a *Side) bool { return is(b, a) && near(b, a) })
	m.match(after, func(b, a *Side) bool { return is(b, a) && b.Identity().Name != "" })
	m.match(after, func(b, a *Side) bool {
		switch {
		case b.Distro.Name != a.Distro.Name:
			return false
		case b.Distro.Span.Several: // another document names the cluster
			return !near(b, a) && path.Dir(file(b)) == path.Dir(was(file(a)))
		}
		return near(b, a) && b.Distro.Deliver(b.Docs[0], file(b)).Resource == "" && a.Distro.Deliver(a.Docs[0], file(a)).Resource == ""
	})
	var pairs []Pair
	for _, a := range after {
		pairs = append(pairs, Pair{Before: m.of[a], After: a})
	}
	for _, b := range before {
		if m.taken[b] {
			continue
		}
		p := Pair{Before: b}
		heir := func(a *Side) bool {
			return m.of[a] == nil && a.Distro.Name == b.Distro.Name && (near(b, a) || b.Docs[0].Root().Get("spec").Exists() && a.Distro.SameSpec(b.Docs[0], a.Docs[0]))
		}
		if i := slices.IndexFunc(after, heir); i >= 0 {
			p.Heir = after[i]
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// place names a side in messages.
func (s *Side) place() string { return fmt.Sprintf("%s:%d", file(s), s.Docs[0].Root().Line()) }

// Places are where clusters are described after a change, by their names: those of objects, which a
// patch or a manifest does not have.
type Places struct {
	of transform.Places[transform.Identity]
}

// NewPlaces has no cluster yet.
func NewPlaces() Places { return Places{transform.Places[transform.Identity]{}} }

// Add adds a cluster.
func (p Places) Add(s *Side) {
	if id := s.Identity(); id.Name != "" && !s.Patch && !s.Distro.Span.Several {
		p.of.Add(id, s.place())
	}
}

// Twice reports a cluster that a change adds and that another place describes as well.
func (p Places) Twice(s *Side, t transform.Target) (found []transform.Finding) {
	if other := p.of.Other(s.Identity(), s.place()); other != "" && !s.Patch {
		found = []transform.Finding{rules.Described(s.Docs[0], s.Identity(), other).Finding()}
	}
	return clusterAdded.Report(found, t.Accept)
}

func file(s *Side) string { return s.Docs[0].File() }

type matching struct {
	before []*Side
	of     map[*Side]*Side // by the side after the change
	taken  map[*Side]bool
}

// match pairs clusters, in their order.
func (m *matching) match(after []*Side, same func(b, a *Side) bool) {
	for _, a := range after {
		if m.of[a] != nil {
			continue
		}
		for _, b := range m.before {
			if !m.taken[b] && same(b, a) {
				m.of[a], m.taken[b] = b, true
				break
			}
		}
	}
}
