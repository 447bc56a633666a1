// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/waves"
)

// runPage collects what runs do, for the page at their end.
type runPage struct {
	of    map[string]*report.Timeline // by cluster
	ended []report.Subject
}

// add adds an event of one cluster.
func (p *runPage) add(e report.RunEvent) { p.timeline(e.Cluster).Add(e) }

// close ends the run of a cluster, also one that did not start.
func (p *runPage) close(cluster, state string, err error) {
	p.ended = append(p.ended, p.timeline(cluster).Subject(state, err))
}

func (p *runPage) timeline(cluster string) *report.Timeline {
	if p.of == nil {
		p.of = map[string]*report.Timeline{}
	}
	if p.of[cluster] == nil {
		p.of[cluster] = &report.Timeline{Cluster: cluster}
	}
	return p.of[cluster]
}

// write writes the page.
func (p *runPage) write(o *options, verb string) error {
	found := newResults(verb)
	for _, s := range p.ended {
		found.Keep(s)
	}
	return found.WriteHTML(o.out, report.TimelineTable)
}

// stateOf is that of a run that has ended.
func stateOf(err error) string {
	if err != nil {
		return string(waves.Failed)
	}
	return string(waves.Done)
}
