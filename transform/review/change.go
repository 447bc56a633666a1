// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package review evaluates a change of clusters, such as a pull request: which stages
// it performs, what else it changes of machines, and what is wrong with that.
//
// Invariant: a change is compared with what its stages make of the documents before it.
// What is left is an edit that is no stage, wherever and however it is written. The
// operator's choices, acceptances included, are those of the base: a change cannot
// accept its own errors.
package review

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
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
	Before   *Side        // nil for a cluster that the change adds
	After    *Side        // nil for a cluster that it removes
	Version  string       // before the change, if the change has another one
	Stages   []plan.Step  // those that it performs, as they are planned before it
	Undone   []string     // stages that it removes
	Left     plan.Summary // after the change
	Classes  []Class
	Edits    []Edit // outside of the configuration of machine classes
	Findings []transform.Finding
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

var clusterRemoved = transform.Rule{ID: "cluster-removed", Severity: transform.Error,
	Doc: "A cluster gets another name, or its file a name that is not read, such as `.bak`: the cluster is deleted, with its machines, which the change does not show. A warning if the change removes its documents without a replacement, as for a decommissioned cluster, and if it moves out of the reviewed paths."}.Because(
	"If Fleet or another program applies the folder, a cluster that is gone from it is deleted, and its machines with it.", "rancher/fleet docs: removed resources", "Keep the document, its name and the name of its file until the cluster is deleted on purpose.", "If the cluster is replaced by the one with the new name, on purpose.")

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
		if of[0] = d.Root().StringAt("kind"); of[0] != "" {
			of[1] = d.Root().StringAt("metadata", "name")
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

var clusterAdded = rules.DuplicateCluster.WithDoc("The change adds a cluster that another file describes with the same namespace and name. That file can be in any folder, and the change need not touch it. Or it moves files, or makes one root of folders by a `kustomization.yaml` or a `fleet.yaml`, so that two such places are applied together. Accept it in the base for clusters of several Ranchers.")

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

var overlayChanged = transform.Rule{ID: "overlay-changed", Severity: transform.Error,
	Doc: "The change adds, edits or removes a kustomization, a patch or an overlay of Fleet. A cluster gets other values than its file shows, also if that file does not change. changed-by-overlay does not accept it."}.Because(
	"What reaches the cluster is not what its file shows: a patch can take away the provider.", "kubernetes-sigs/kustomize: patches", "Make the change in the file of the cluster, or compare the output of kubectl kustomize.", "If the output of kubectl kustomize was reviewed.")

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
	is = slices.DeleteFunc(is, func(e kustomize.Effect) bool { return e.Fails() && (p.Before == nil || !same(e.From)) })
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
