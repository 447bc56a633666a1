// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Partial is a cluster of which a document holds a part, such as the manifest of one
// manager.
type Partial interface {
	// Provides reports whether the document holds what a rule misses in others.
	Provides(rule string) bool
}

// Dependent is a cluster whose rules depend on documents that hold no cluster, such as
// those with permissions.
type Dependent interface {
	// Beside tells such documents by their text, and Misses reports whether a rule
	// misses something in those that were found.
	Beside(text []byte) bool
	Misses(rule string, beside []*yamledit.Document) bool
}

// Part is what a document has to say in a run over several.
type Part struct {
	Lacks    []Finding // of rules about what another document may hold
	Provides []string  // rules whose findings about others it settles
}

// PartOf divides the findings about a cluster into those of the document alone, and
// its part in a run.
func PartOf(d Distro, c Cluster, all []Finding) (own []Finding, p Part) {
	elsewhere := map[string]bool{}
	for _, r := range d.Rules {
		if !r.Elsewhere {
			continue
		}
		elsewhere[r.ID] = true
		if partial, is := c.(Partial); is && partial.Provides(r.ID) {
			p.Provides = append(p.Provides, r.ID)
		}
	}
	for _, f := range all {
		if elsewhere[f.Rule] {
			p.Lacks = append(p.Lacks, f)
		} else {
			own = append(own, f)
		}
	}
	return own, p
}

// partOf is the part of a cluster whose findings nobody has asked for.
func partOf(d Distro, c Cluster) Part {
	if !slices.ContainsFunc(d.Rules, func(r Rule) bool { return r.Elsewhere }) {
		return Part{}
	}
	_, p := PartOf(d, c, c.Findings(""))
	if dependent, is := c.(Dependent); is {
		p = p.Seen(dependent, nil) // a plan reads nothing beside its cluster
	}
	return p
}

// Together judges the documents of a run together: what one of them lacks, another
// one may hold. The zero Together is ready to use.
type Together struct{ provided map[string]bool }

// Add takes a document of the run.
func (t *Together) Add(p Part) {
	if t.provided == nil {
		t.provided = map[string]bool{}
	}
	for _, rule := range p.Provides {
		t.provided[rule] = true
	}
}

// Left returns what a document lacks and no document of the run holds; it is asked
// once all were added.
func (t *Together) Left(p Part) []Finding {
	return slices.DeleteFunc(slices.Clone(p.Lacks), func(f Finding) bool { return t.provided[f.Rule] })
}

// Seen drops the findings of rules that miss nothing in the documents beside a
// cluster.
func (p Part) Seen(d Dependent, beside []*yamledit.Document) Part {
	p.Lacks = slices.DeleteFunc(slices.Clone(p.Lacks), func(f Finding) bool { return !d.Misses(f.Rule, beside) })
	return p
}
