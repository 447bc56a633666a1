// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// states sums up what a verb that shows no plans made of clusters.
type states struct {
	summary
	open   []worked // on clusters of files that did not end
	looked atomic.Int32
	errors int // of all clusters and files
	own    int // of those, of clusters that have a row
}

// worked is what was made of a cluster.
type worked struct {
	of      clusters.Cluster
	target  transform.Target
	changes bool
	state   // if it is written
}

// state is how far a cluster is.
type state struct {
	plan    outputs.Plan
	outlook transform.Outlook
}

// stateOf returns the state of a cluster in these documents; false where they have no plan, which
// the verb reports.
func stateOf(f clusters.Cluster, docs []*yamledit.Document, t transform.Target) (state, bool) {
	p, err := transform.BuildFor(f.Distro, docs, t, transform.Choice{Next: true})
	if err != nil {
		return state{}, false
	}
	id := p.Cluster
	return state{outputs.Plan{Distro: id.Distro, Namespace: id.Namespace, Name: id.Name, Source: outputs.SourceOf(f.Docs[0])}, p.Outlook()}, true
}

// newStates is a summary for people, in which the next command has these flags.
func (o *options) newStates(out io.Writer, flags []string) *states {
	return &states{summary: summary{out: out, palette: o.palette(out), flags: flags, flushed: true}}
}

// mostSummed bounds the clusters of which a verb that changes or checks them works out the state:
// that costs as much as the change, and holds their documents until their file is written.
const mostSummed = 100

// wanted reports whether there are still few enough clusters. It is called once for each.
func (s *states) wanted() bool { return s.looked.Add(1) <= mostSummed }

// take takes what was made of a cluster, until it is known whether it was written.
func (s *states) take(w worked, known bool, err error) {
	if !known {
		return
	}
	if s.open = append(s.open, w); err != nil {
		s.own++
	}
}

// know adds rows for what was taken: for a failed write as the cluster was.
func (s *states) know(failed bool) {
	for _, w := range s.open {
		if failed && w.changes {
			if was, known := stateOf(w.of, w.of.Docs, w.target); known {
				w.state = was
			}
		}
		s.add(w.plan, w.outlook, w.of)
	}
	s.open = nil
}

// finish writes the summary of several clusters. What has no row is refused.
func (s *states) finish() error {
	if n := s.looked.Load(); n > mostSummed {
		_, err := fmt.Fprintf(s.out, "clusters: %d; rke-lm plan --summary shows their states\n", n)
		return err
	}
	s.Refused = s.errors - s.own
	if !s.several() {
		return nil
	}
	return s.summary.finish(true)
}

// workOn returns what becomes of a cluster by changes of its documents; false for one that the
// saved plans do not have.
func (a *applyOptions) workOn(f clusters.Cluster, t transform.Target, changes []revision) (worked, bool) {
	if !a.states.wanted() {
		return worked{}, false
	}
	if a.saved.given() {
		plan, is := transform.Pick(a.saved.plans, f.Distro.Identify(f.Docs[0]), f.Docs, a.undo != "")
		if !is {
			return worked{}, false
		}
		t = plan.Target
	}
	docs := slices.Clone(f.Docs)
	for i, doc := range docs {
		if c := slices.IndexFunc(changes, func(r revision) bool { return r.before == doc }); c >= 0 && !a.files.DryRun {
			docs[i] = changes[c].after
		}
	}
	is, known := stateOf(f, docs, t)
	return worked{f, t, len(changes) > 0 && !a.files.DryRun, is}, known
}

// repeated are the flags with which the next stage is applied.
func (a *applyOptions) repeated(flags *pflag.FlagSet) []string {
	if a.saved.given() {
		return []string{"--plan=" + a.saved.dir}
	}
	return a.repeatedChoices(flags)
}
