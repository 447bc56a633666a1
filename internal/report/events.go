// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"io"
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// The types of events of a run.
const (
	Began    = "began"    // the run holds the lock
	Noted    = "note"     // something to know
	Staged   = "stage"    // what a stage will do
	Written  = "written"  // something was written
	Awaited  = "waiting"  // what is waited for
	Checked  = "checked"  // what had to hold behind a stage holds
	Stopped  = "stopped"  // the run ends before its end
	Finished = "finished" // the run is at its end
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
	Prepare  []Action            `json:"prepare,omitempty"`
	Actions  []Action            `json:"actions,omitempty"`
	Findings []transform.Finding `json:"findings,omitempty"`
	Machines []RunMachine        `json:"machines,omitempty"`
	End      *RunEnd             `json:"end,omitempty"`
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

// RunEnd is how a run ends.
type RunEnd struct {
	Done  []string `json:"done"`            // the stages behind which the cluster stands
	Holds string   `json:"holds"`           // what holds of the cluster now
	Again string   `json:"again,omitempty"` // the command that goes on
	Back  string   `json:"back,omitempty"`  // the command that goes back
}

// Machines returns the progress of machines for programs.
func Machines(list []rollout.MachineProgress) []RunMachine {
	var out []RunMachine
	for _, m := range list {
		out = append(out, RunMachine{Name: m.Name, Node: m.Node, Done: m.Done, Waiting: redact.Text(m.Waiting), Failures: m.Failures, Output: m.Output})
	}
	return out
}

// Actions returns actions for programs.
func Actions(list []transform.Action) []Action {
	var out []Action
	for _, a := range list {
		out = append(out, Action{a.Purpose(), a.Command()})
	}
	return out
}

// WriteRunEvent writes an event as one line.
func WriteRunEvent(w io.Writer, e RunEvent) error {
	e.APIVersion, e.Kind = APIVersion, "RunEvent"
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(e)
}
