// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/lists"
)

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
