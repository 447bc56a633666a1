// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/waves"
)

// Runs shows what happens in runs over clusters: as lines of JSON, or as text, and at the end on a page.
type Runs struct {
	Format string    // text, json or html
	Out    io.Writer // keeps its errors
	One    *RunText  // of one cluster
	Many   *FleetText

	of    map[string]*Timeline // by cluster
	ended []Subject
}

// Show shows an event of a cluster.
func (r *Runs) Show(m migrate.Member, e migrate.Event) {
	event := NewRunEvent(e)
	switch {
	case r.Format == "json":
		if e.Type != "" {
			WriteJSONLine(r.Out, event)
		}
		return
	case r.Format == "html" && e.Type != "":
		r.timeline(e.Cluster).Add(event)
	}
	if r.One != nil {
		r.One.Write(event)
	} else {
		r.Many.Write(m, event)
	}
}

// End notes how the run of a cluster ended, also of one that did not start.
func (r *Runs) End(cluster string, state waves.State, err error) {
	r.ended = append(r.ended, r.timeline(cluster).Subject(string(state), err))
}

func (r *Runs) timeline(cluster string) *Timeline {
	if r.of == nil {
		r.of = map[string]*Timeline{}
	}
	if r.of[cluster] == nil {
		r.of[cluster] = &Timeline{Cluster: cluster}
	}
	return r.of[cluster]
}

// WritePage writes the page of all runs.
func (r *Runs) WritePage(all *Results) error {
	for _, s := range r.ended {
		all.Keep(s)
	}
	return all.WriteHTML(r.Out, TimelineTable)
}
