// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The types of events.
const (
	Began    = "began"    // the run holds the lock
	Noted    = "note"     // something to know
	Staged   = "stage"    // what a stage will do
	Written  = "written"  // something was written
	Awaited  = "waiting"  // what is waited for
	Checked  = "checked"  // the check after a stage passes
	Watched  = "owners"   // who owned the cloud controllers during a stage
	Stopped  = "stopped"  // the run ends before its end
	Finished = "finished" // the run is complete
)

// Event is what happens in a run. It may hold secrets of the cluster's object: whoever
// shows it redacts it.
type Event struct {
	Type           string
	Time           time.Time
	Cluster, Stage string
	Message        string

	// From and To are the cluster's object before and after the edit of a stage; nil
	// where it has none.
	From, To *yamledit.Document
	Prepare  []action.Action // what the user has to have done
	Actions  []action.Action
	Findings []transform.Finding
	Machines []rollout.MachineProgress
	Owned    *Owned   // during a stage
	Outcome  *Outcome // of a run that ends
}

// Outcome is how a run ends.
type Outcome struct {
	Done     []string `json:"done"`            // the stages that are done
	Holds    string   `json:"holds"`           // what holds of the cluster now
	Continue string   `json:"again,omitempty"` // the command that continues
	Revert   string   `json:"back,omitempty"`  // the command that goes back
}

// events sends the events of a run.
type events struct {
	send     func(Event)
	cluster  string
	progress *progress
}

func (e *events) emit(event Event) {
	if e.send == nil {
		return
	}
	event.Time, event.Cluster, event.Stage = time.Now().UTC(), e.cluster, e.progress.stage
	e.send(event)
}

func (e *events) note(message string) { e.emit(Event{Type: Noted, Message: message}) }

func (e *events) noteFindings(list []transform.Finding) {
	if len(list) > 0 {
		e.emit(Event{Type: Noted, Message: fmt.Sprintf("findings: %d", len(list)), Findings: list})
	}
}
