// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
)

// CordonControlPlane is the stage that keeps new pods off the control planes during the
// switch.
const CordonControlPlane = "cordon-control-plane"

// Only nodes that the migration cordoned are released, and none that an admin cordoned is
// touched by either stage.
var cordonNodes = Stage{
	Name: CordonControlPlane, Leader: eitherRuns, long: true,
	past: func(s Observed) bool { return s.Switched },
	after: func(t transform.Target) Check {
		c := installManager.after(t)
		c.Stage, c.Cordoned = CordonControlPlane, true
		return c
	},
}

// Around reports whether a stage only goes with the switch: nothing of it is left to do once
// the migration is complete.
func Around(stage string) bool { return stage == CordonControlPlane || stage == UncordonControlPlane }

// Cordoning is the operator's choice for one cluster.
type Cordoning struct {
	Instead  string // why a format does not do it, as a sentence; "" where it may
	Target   transform.Target
	Workers  bool   // a control plane is a worker, too
	Selector string // of the control-plane nodes
	Cluster  string // names the run on the nodes

	// Why and ReleaseWhy are what the format says of the two stages.
	Why, ReleaseWhy string
}

// Stage cordons the control planes.
func (c Cordoning) Stage() transform.Stage {
	if why := c.not(); why != "" {
		return InOtherDocument(why)
	}
	return transform.Stage{
		Why:       c.Why,
		After:     []action.Action{action.CordonNodes(c.Selector, Mark(c.Cluster))},
		UndoAfter: []action.Action{action.UncordonNodes(Mark(c.Cluster))},
	}
}

// unsafe is what a cluster's name may hold and a shell would not take as it is.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// Mark is on the nodes that the migration of a cluster cordoned.
func Mark(cluster string) string {
	return strings.TrimRight("leader-migration-"+strings.Trim(unsafe.ReplaceAllString(cluster, "-"), "-"), "-")
}

// not reports why nothing is cordoned, or "".
func (c Cordoning) not() string {
	switch {
	case c.Instead != "":
		return c.Instead
	case c.Target.Cordon == transform.CordonAlways:
		return ""
	case c.Target.Cordon == transform.CordonNever:
		return "Not needed: --cordon never was given."
	case c.Workers:
		return "Not needed: control planes also run workloads, which could not be scheduled."
	case c.Target.Version != "":
		return "Not needed: Kubernetes is upgraded as well, and pods must be rescheduled."
	}
	return ""
}

// UncordonControlPlane is the stage that lets the control planes take workloads again.
const UncordonControlPlane = "uncordon-control-plane"

var uncordonNodes = Stage{
	Name: UncordonControlPlane, Leader: switchProvider.Leader, long: true,
	past: func(s Observed) bool { return !s.Marked },
	after: func(t transform.Target) Check {
		c := switchProvider.after(t)
		c.Stage, c.Cordoned, c.Released = UncordonControlPlane, false, true
		return c
	},
}

// Release uncordons what Stage cordoned.
func (c Cordoning) Release() transform.Stage {
	if why := c.not(); why != "" {
		return InOtherDocument(why)
	}
	return transform.Stage{Why: c.ReleaseWhy, After: []action.Action{action.UncordonNodes(Mark(c.Cluster))}}
}
