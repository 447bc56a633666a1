// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package cordon plans when control planes are cordoned for the switch.
//
// Invariant: only nodes that the migration cordoned are released, and none that
// an admin cordoned is touched by either stage.
package cordon

import (
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Policy is the operator's choice for one cluster.
type Policy struct {
	Choice   string // one of transform.CordonAuto (also ""), CordonAlways, CordonNever
	Workers  bool   // a control plane is a worker, too
	Upgrades bool   // the switch moves the release
	Selector string // of the control-plane nodes
	Cluster  string // names the run on the nodes

	// Why and ReleaseWhy are what the distro says of the two stages.
	Why, ReleaseWhy string
}

// Stage keeps new pods off the control planes during the switch.
func (p Policy) Stage() transform.Stage {
	s := transform.Stage{Name: stages.CordonControlPlane, Why: "Not needed here: " + p.not() + "."}
	if p.not() == "" {
		s.Why = p.Why
		s.After = []transform.Action{transform.Cordon{Selector: p.Selector, Run: p.run()}}
		s.UndoAfter = []transform.Action{transform.Uncordon{Run: p.run()}}
	}
	return s
}

// Release lets them take workloads again.
func (p Policy) Release() transform.Stage {
	s := transform.Stage{Name: stages.UncordonControlPlane, Why: "Not needed here: " + p.not() + "."}
	if p.not() == "" {
		s.Why = p.ReleaseWhy
		s.After = []transform.Action{transform.Uncordon{Run: p.run()}}
	}
	return s
}

// unsafe is what a cluster's name may hold and a shell would not take as it is.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func (p Policy) run() string { return Mark(p.Cluster) }

// Mark is on the nodes that the migration of a cluster cordoned.
func Mark(cluster string) string {
	return strings.TrimRight("leader-migration-"+strings.Trim(unsafe.ReplaceAllString(cluster, "-"), "-"), "-")
}

// not says why nothing is cordoned, or "".
func (p Policy) not() string {
	switch {
	case p.Choice == transform.CordonAlways:
		return ""
	case p.Choice == transform.CordonNever:
		return "--cordon never was given"
	case p.Workers:
		return "control planes also carry workloads, which could not be scheduled"
	case p.Upgrades:
		return "Kubernetes is upgraded as well, and pods have to move"
	}
	return ""
}
