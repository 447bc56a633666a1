// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"time"

	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

// Run is one run over one cluster.
type Run struct {
	Server  *rancher.Server
	Object  rancher.Object
	Planner route.Planner
	Accept  []string // rules whose errors are acknowledged

	Until  string   // the last stage of a migration; "" for all
	ByHand []string // stages whose commands a person has run
	Etcd   bool     // take snapshots of etcd

	Timeout time.Duration // of each wait
	Pause   time.Duration // between two looks

	AuditLog string // a file; "" for none
	Who      Who
	// Confirm asks whether to go on with a stage; nil stands for yes.
	Confirm func(ctx context.Context, stage string) (bool, error)
	Say     func(report.RunEvent)
	// Again and Back are the command lines that go on with the run, and back.
	Again, Back string

	verb     string
	observer *observe.Observer
	lock     *lock
	audit    *audit
	nodes    map[string]string // names of Nodes by those of machines, before the first change
	mark     string            // on the Nodes that are cordoned
	made     bool              // something was written
	foreign  map[string]bool   // Nodes that somebody else had cordoned
	cordoned bool              // Nodes may be cordoned by this run
	snapped  bool              // etcd was snapshotted before the first write
	muted    bool              // events cannot be written
	done     []string          // stages that are done
	stage    string            // the one in work
	edited   route.Edit        // what became of its edit
}

// Who is somebody who runs the tool.
type Who struct {
	User string `json:"user"`
	Host string `json:"host"`
}

// say tells what happens.
func (r *Run) say(e report.RunEvent) {
	if r.Say == nil {
		return
	}
	e.Time, e.Cluster, e.Stage = time.Now().UTC(), r.Object.Title(), r.stage
	r.Say(e)
}

func (r *Run) note(message string) { r.say(report.RunEvent{Type: report.Noted, Message: message}) }
