// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// RunEvent is what happens in a run of migrate or rollback: one line of its stream.
type RunEvent struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Time       time.Time `json:"time"`
	Cluster    string    `json:"cluster"`
	Type       string    `json:"type"`
	Stage      string    `json:"stage,omitempty"`
	Message    string    `json:"message,omitempty"`

	Diff     string              `json:"diff,omitempty"`
	Prepare  []action.Action     `json:"prepare,omitempty"`
	Actions  []action.Action     `json:"actions,omitempty"`
	Findings []transform.Finding `json:"findings,omitempty"`
	Machines []RunMachine        `json:"machines,omitempty"`
	Owners   *migrate.Owned      `json:"owners,omitempty"`
	End      *migrate.Outcome    `json:"end,omitempty"`
}

// RunMachine is how far one machine has come.
type RunMachine struct {
	Name    string `json:"name"`
	Node    string `json:"node"`
	Done    bool   `json:"done"`
	Waiting string `json:"waiting,omitempty"`
	// Failures counts the tries of its plan that failed, and Output is the end of what
	// the last one printed.
	Failures int    `json:"failures,omitempty"`
	Output   string `json:"output,omitempty"`
}

// NewRunEvent returns an event for programs, without its secrets.
func NewRunEvent(e migrate.Event) RunEvent {
	out := RunEvent{
		APIVersion: APIVersion, Kind: "RunEvent", Time: e.Time, Cluster: e.Cluster, Type: e.Type, Stage: e.Stage, Message: e.Message,
		Prepare: e.Prepare, Actions: e.Actions, Machines: machines(e.Machines), Owners: e.Owned, End: e.Outcome,
	}
	if len(e.Findings) > 0 {
		out.Findings = Findings(e.Findings)
	}
	if e.From != nil {
		out.Diff = Diff(e.From, e.To)
	}
	return out
}

func machines(list []rollout.MachineProgress) []RunMachine {
	return lists.Map(list, func(m rollout.MachineProgress) RunMachine {
		return RunMachine{Name: m.Name, Node: m.Node, Done: m.Done, Waiting: redact.Text(m.Waiting), Failures: m.Failures, Output: m.Output}
	})
}
