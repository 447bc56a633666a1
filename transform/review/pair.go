// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

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

// Patch reports whether a pair is a patch of clusters and none itself.
func (p Pair) Patch() bool { return p.Before.patch() && p.After.patch() }

func (s *Side) patch() bool { return s == nil || s.Patch }

// Overlaid is the finding about overlays that do another thing to a cluster after the change. What a
// removed patch did shows in its clusters.
func (p Pair) Overlaid(accepted []string) []transform.Finding {
	if p.After == nil {
		return nil
	}
	was, had := p.Before.effects()
	is, has := p.After.effects()
	// A new layer in another folder may be of another cluster.
	same := func(from string) bool {
		return slices.Contains(had, from) && slices.Contains(has, from) || around(from) && !slices.ContainsFunc(had, around)
	}
	is = slices.DeleteFunc(is, func(e kustomize.Effect) bool { return e.Fails() && (p.Before == nil || !same(e.From())) })
	f := transform.FindingAt(p.After.Docs[0].Root(), "", "compare what kubectl kustomize prints before the change and after it; make a stage in the file that has the last word")
	i := 0
	for i < min(len(was), len(is)) && was[i].Same(is[i]) {
		i++
	}
	switch {
	case i < len(is):
		f.File, f.Line = is[i].Place()
		f.Message = "the change makes or edits an overlay: " + is[i].Text()
	case i < len(was):
		f.Message = "the change removes what an overlay does: " + was[i].Text()
	case p.Before == nil:
		return nil
	case p.Before.Identity().Is(p.After.Identity()) && p.Before.applied(same) != p.After.applied(same):
		f.Message = p.Before.applied(same).Title() + " is applied as " + p.After.applied(same).Title() + ", by the name that an overlay gives it: that is another cluster, and the first one may be deleted"
	case p.After.Uses[0].Omits != "" && (p.Before.Uses[0].Omits == "" || path.Dir(p.Before.Uses[0].Omits) != path.Dir(p.After.Uses[0].Omits)):
		f.Message, f.Fix = p.After.Uses[0].Omits+" does not have it: what builds the folder with kustomize deletes the cluster", "list the document in its resources"
	case file(p.Before) == file(p.After) && p.Before.Uses[0].Bundle != p.After.Uses[0].Bundle:
		f.Message, f.Fix = "the change edits the fleet.yaml or the .fleetignore of its bundle, which can change or leave out the cluster", "compare the Bundles that Fleet makes before the change and after it"
	case file(p.Before) == file(p.After) && slices.ContainsFunc(had, func(layer string) bool { return !slices.Contains(has, layer) }):
		f.Message = "the change removes the document from a kustomization or an overlay"
	default:
		return nil
	}
	return overlayChanged.Report([]transform.Finding{f}, accepted)
}

// around reports whether a layer is in the folder of a document or one around it: it is applied in place of the document.
func around(from string) bool { return strings.Trim(from, "./") == "" }

// applied is the name that some layers give the object.
func (s *Side) applied(by func(from string) bool) transform.Identity {
	use := s.Uses[0]
	use.Layers = lists.Where(use.Layers, func(k *kustomize.Kustomization) bool { return by(k.From(s.Docs[0])) })
	return use.Named(transform.Identity{Namespace: s.Identity().Namespace, Name: s.Identity().Name})
}

// effects are those of overlays on the documents, and the overlays.
func (s *Side) effects() (all []kustomize.Effect, layers []string) {
	for i := 0; s != nil && i < len(s.Uses); i++ {
		all = append(all, kustomize.Effects(s.Docs[i], s.Uses[i])...)
		for _, k := range s.Uses[i].Layers {
			layers = append(layers, k.From(s.Docs[i]))
		}
	}
	return all, layers
}
