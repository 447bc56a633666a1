// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// RunEvent is what happens in a run of migrate or rollback: one line of its stream.
type RunEvent struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	migrate.Event
}

// NewRunEvent returns an event for programs, without its secrets.
func NewRunEvent(e migrate.Event) RunEvent {
	e.Findings = Findings(e.Findings)
	if e.From != nil {
		e.From, e.To, e.Diff = nil, nil, Diff(e.From, e.To)
	}
	e.Machines = slices.Clone(e.Machines)
	for i := range e.Machines {
		e.Machines[i].Waiting = redact.Text(e.Machines[i].Waiting)
	}
	return RunEvent{APIVersion, "RunEvent", e}
}
