// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

// progress is how far a run has come.
type progress struct {
	done  []string   // the stages that are done, in their order
	stage string     // the one in work
	edit  route.Edit // what became of its edit
	wrote bool       // the run has written something
}

// enter begins with a stage.
func (p *progress) enter(stage string) { p.stage, p.edit = stage, route.NotWritten }

// add adds a stage that is done. An earlier run may have done it.
func (p *progress) add(stage string) {
	if !slices.Contains(p.done, stage) {
		p.done = append(p.done, stage)
	}
}

// remove takes away a stage that was undone.
func (p *progress) remove(stage string) {
	p.done = slices.DeleteFunc(p.done, func(s string) bool { return s == stage })
}

// last is the last stage that is done; "" for none.
func (p *progress) last() string {
	if len(p.done) == 0 {
		return ""
	}
	return p.done[len(p.done)-1]
}

// upTo lists the stages of a plan up to one; none for "".
func upTo(p *transform.Plan, last string) []string {
	names := []string{}
	for _, s := range p.Steps {
		if last == "" {
			break
		}
		names = append(names, s.Stage.Name)
		if s.Stage.Name == last {
			break
		}
	}
	return names
}
