// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// states sums up what a verb that shows no plans made of clusters.
type states struct {
	summary
	open   []worked // on clusters of files that did not end
	ended  []worked // on the others; none beyond mostSummed
	looked int      // clusters of both
	errors int      // of all clusters and files
	own    int      // of those, of clusters of ended
}

// worked is what was made of a cluster.
type worked struct {
	of     clusters.Cluster
	target transform.Target
	after  []*yamledit.Document // as the verb leaves them
	err    error
}

// row adds the state of the cluster; false where its documents have no plan, which the verb
// reports.
func (s *states) row(w worked) bool {
	p, err := transform.BuildFor(w.of.Distro, w.after, w.target, transform.Choice{Next: true})
	if err != nil {
		return false
	}
	id := p.Cluster
	at := whereIs(w.of)
	if w.of.Refusal(w.target) != nil {
		at.file = yamledit.Stdin // no command continues with what is refused
	}
	s.add(outputs.Plan{Distro: id.Distro, Namespace: id.Namespace, Name: id.Name, Source: outputs.SourceOf(w.after[0])}, p.Outlook(), at)
	return true
}

// newStates is a summary for people, in which the next command has these flags.
func (o *options) newStates(out io.Writer, flags []string) *states {
	return &states{summary: summary{out: out, palette: o.palette(out), flags: flags}}
}

// mostSummed bounds the clusters of which a verb that changes or checks them works out the state:
// that costs as much as the change, and holds their text until the end.
const mostSummed = 100

// take takes what was made of a cluster, until it is known whether it was written. Of more than
// are summed up it keeps none: a stream may have any number.
func (s *states) take(w worked) {
	if s.looked++; s.looked > mostSummed {
		s.open, s.ended = nil, nil
		return
	}
	s.open = append(s.open, w)
}

// know keeps what was taken of files that ended; nil is all: for a failed write the cluster as it was.
func (s *states) know(files []source.Text, failed bool) {
	var open []worked
	for _, w := range s.open {
		ends := func(f source.Text) bool { return f.Name == w.of.Docs[0].File() }
		if files != nil && !slices.ContainsFunc(files, ends) {
			open = append(open, w)
			continue
		}
		if failed {
			w.after = w.of.Docs
		}
		if w.err != nil {
			s.own++
		}
		s.ended = append(s.ended, w)
	}
	s.open = open
}

// finish writes the summary of several clusters. What has no row is refused.
func (s *states) finish() error {
	if s.looked > mostSummed {
		_, err := fmt.Fprintf(s.out, "clusters: %d; rke-lm plan --summary shows their states\n", s.looked)
		return err
	}
	if s.looked+s.errors-s.own < 2 {
		return nil // only then is a state worked out
	}
	s.Refused = s.errors
	for _, w := range s.ended {
		if s.row(w) && w.err != nil {
			s.Refused--
		}
	}
	if !s.several() {
		return nil
	}
	return s.summary.finish(true)
}

// worked is what becomes of a cluster by changes of its documents; false if the saved plans do not
// have it.
func (a *applyOptions) worked(f clusters.Cluster, t transform.Target, changes []revision, err error) (worked, bool) {
	if a.saved.given() {
		plan, is := a.picked(f)
		if !is {
			return worked{}, false
		}
		t = plan.Target
	}
	w := worked{f, t, slices.Clone(f.Docs), err}
	if !a.files.DryRun {
		for _, c := range changes {
			w.after[c.doc] = c.after
		}
	}
	return w, true
}

// repeated are the flags with which the next stage is applied.
func (a *applyOptions) repeated(flags *pflag.FlagSet) []string {
	if a.saved.given() {
		return []string{"--plan=" + a.saved.dir}
	}
	return a.repeatedChoices(flags)
}
