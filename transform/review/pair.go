// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"path"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// Pair is a cluster before a change and after it; one of the sides may be nil.
type Pair struct {
	Before, After *Side
	Heir          *Side  // an added cluster with the file or the specification of a removed one
	Left          []byte // the text of a removed cluster's file after the change
	Away          string // what the file is renamed to, if that is not read, or not one of the reviewed paths
}

// Pairs finds out which clusters are the same: first those with one name in one file, then
// those that moved to another file, and then those whose name is not that of an object. A file that gets a name which
// no search looks for may be applied or not, so what it describes is removed. was returns
// the name that a file had before the change. The pairs come in the order after the change, removed
// clusters last.
func Pairs(before, after []*Side, was func(file string) string) []Pair {
	of, taken := map[*Side]*Side{}, map[*Side]bool{} // the side before the change by the one after it
	match := func(same func(b, a *Side) bool) {
		for _, a := range after {
			fits := func(b *Side) bool { return of[a] == nil && !taken[b] && (b.Unnamed || !a.Unnamed) && same(b, a) }
			if b, has := lists.Find(before, fits); has {
				of[a], taken[b] = b, true
			}
		}
	}
	is := func(b, a *Side) bool { return a.Identity().Is(b.Identity()) }
	near := func(b, a *Side) bool { return file(b) == was(file(a)) }
	match(func(b, a *Side) bool { return is(b, a) && near(b, a) })
	match(func(b, a *Side) bool { return is(b, a) && b.Identity().Name != "" })
	match(func(b, a *Side) bool {
		switch {
		case b.Format.Name != a.Format.Name:
			return false
		case b.Format.Grouping.Several: // another document names the cluster
			return !near(b, a) && path.Dir(file(b)) == path.Dir(was(file(a)))
		}
		return near(b, a) && b.Format.Deliver(b.Docs[0], file(b)).Resource == "" && a.Format.Deliver(a.Docs[0], file(a)).Resource == ""
	})
	pairs := lists.Map(after, func(a *Side) Pair { return Pair{Before: of[a], After: a} })
	for _, b := range before {
		if taken[b] {
			continue
		}
		p := Pair{Before: b}
		heir := func(a *Side) bool {
			return of[a] == nil && a.Format.Name == b.Format.Name && (is(b, a) || near(b, a) || b.Docs[0].Root().Get("spec").Exists() && a.Format.SameSpec(b.Docs[0], a.Docs[0]))
		}
		if p.Heir, _ = lists.Find(after, heir); p.Heir != nil && is(b, p.Heir) {
			p.Heir, p.Away = nil, file(p.Heir)
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// place names a side in messages.
func (s *Side) place() string { return fmt.Sprintf("%s:%d", file(s), s.Docs[0].Root().Line()) }

// adds reports whether the change gives a cluster its name.
func (p Pair) adds() bool {
	return p.After != nil && (p.Before == nil || !p.After.Identity().Is(p.Before.Identity()))
}

// Comes reports whether a cluster comes to its place, in which files that do not change may describe it.
func (p Pair) Comes() bool { return p.adds() || p.After != nil && file(p.Before) != file(p.After) }

// Places are where clusters are described before a change and after it, by their names.
type Places struct{ before, after kustomize.Places }

// NewPlaces has the clusters of files that change, and of those that do not.
func NewPlaces(before, after, rest []*Side) Places {
	return Places{described(before, rest), described(after, rest)}
}

func described(of ...[]*Side) kustomize.Places {
	in := kustomize.Places{}
	for _, s := range slices.Concat(of...) {
		for _, key := range s.known() {
			in.Add(key, s.place())
		}
	}
	return in
}

// known is what a cluster is known by.
func (s *Side) known() []kustomize.Known {
	return s.Uses[0].Known(s.Identity(), s.Format.Grouping.Several)
}

// twin returns another place of a cluster, in all files or in what is applied together.
func (s *Side) twin(in kustomize.Places, anywhere bool) (other string) {
	for _, key := range slices.Backward(s.known()) { // what is applied together first
		if other == "" && (anywhere || key.Root != "") {
			other = in.Other(key, s.place())
		}
	}
	return other
}

// Twice reports a cluster that a change adds, or applies together with another place, which describes it
// as well.
func (p Places) Twice(of Pair, t transform.Target) (found []transform.Finding) {
	if s := of.After; s != nil {
		if other := s.twin(p.after, of.adds()); other != "" && (of.adds() || of.Before.twin(p.before, false) == "") {
			found = []transform.Finding{rules.Described(s.Docs[0], s.Identity(), other).Finding()}
		}
	}
	return clusterAdded.Report(found, t.Accept)
}

func file(s *Side) string { return s.Docs[0].File() }
