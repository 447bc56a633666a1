// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"path/filepath"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/kustomize"
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
	f := transform.FindingAt(p.After.Docs[0].Root(), "", "compare what kubectl kustomize prints before the change and after it; make a stage in the file that has the last word")
	i := 0
	for i < min(len(was), len(is)) && was[i].Same(is[i]) {
		i++
	}
	switch {
	case i < len(is):
		f.File, f.Line = is[i].Place()
		f.Message = "the change makes or edits an overlay: " + is[i].Said()
	case i < len(was):
		f.Message = "the change removes what an overlay does: " + was[i].Said()
	case p.renamed(slices.Equal(had, has), slices.Contains(had, ".")):
		f.Message = p.Before.applied(false).Title() + " is applied as " + p.After.applied(false).Title() + ", by the name that an overlay gives it: that is another cluster, and the first one may be deleted"
	case p.Before != nil && p.After.Uses[0].Omits != "" && p.After.Uses[0].Omits != p.Before.Uses[0].Omits:
		f.Message, f.Fix = p.After.Uses[0].Omits+" does not have it: what builds the folder with kustomize deletes the cluster", "list the document in its resources"
	case p.Before != nil && file(p.Before) == file(p.After) && p.Before.Uses[0].Bundle != p.After.Uses[0].Bundle:
		f.Message, f.Fix = "the change edits the fleet.yaml or the .fleetignore of its bundle, which can change or leave out the cluster", "compare the Bundles that Fleet makes before the change and after it"
	case p.Before != nil && file(p.Before) == file(p.After) && slices.ContainsFunc(had, func(layer string) bool { return !slices.Contains(has, layer) }):
		f.Message = "the change removes the document from a kustomization or an overlay"
	default:
		return nil
	}
	return overlayChanged.Report([]transform.Finding{f}, accepted)
}

// renamed reports whether overlays give the cluster another name. A new overlay in another folder may be of another cluster.
func (p Pair) renamed(sameLayers, hadOwn bool) bool {
	if p.Before == nil || !p.Before.Identity().Is(p.After.Identity()) || hadOwn && !sameLayers {
		return false
	}
	return p.Before.applied(!sameLayers) != p.After.applied(!sameLayers)
}

// applied is the name with which the object is applied, or with which its own folder alone has it.
func (s *Side) applied(own bool) transform.Identity {
	use, of := s.Uses[0], map[string]bool{".": true} // its folder, and the components of that
	if own {
		use.Layers = slices.DeleteFunc(slices.Clone(use.Layers), func(k *kustomize.Kustomization) bool {
			from := k.From(s.Docs[0])
			for _, ref := range k.Components() {
				of[filepath.Join(from, ref)] = of[filepath.Join(from, ref)] || of[from]
			}
			return !of[from]
		})
	}
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
