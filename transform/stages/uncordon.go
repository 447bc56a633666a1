// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
)

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
