// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/waves"
)

// runPage collects what runs do, for the page at their end.
type runPage struct {
	of    map[string]*outputs.Timeline // by cluster
	ended []outputs.Subject
}

// add adds an event of one cluster.
func (p *runPage) add(e outputs.RunEvent) { p.timeline(e.Cluster).Add(e) }

// close ends the run of a cluster, also one that did not start.
func (p *runPage) close(cluster, state string, err error) {
	p.ended = append(p.ended, p.timeline(cluster).Subject(state, err))
}

func (p *runPage) timeline(cluster string) *outputs.Timeline {
	if p.of == nil {
		p.of = map[string]*outputs.Timeline{}
	}
	if p.of[cluster] == nil {
		p.of[cluster] = &outputs.Timeline{Cluster: cluster}
	}
	return p.of[cluster]
}

// write writes the page.
func (p *runPage) write(o *options, verb string) error {
	found := newResults(verb)
	for _, s := range p.ended {
		found.Keep(s)
	}
	return found.WriteHTML(o.out, outputs.TimelineTable)
}

// stateOf is that of a run that has ended.
func stateOf(err error) string {
	if err != nil {
		return string(waves.Failed)
	}
	return string(waves.Done)
}
