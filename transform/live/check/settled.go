// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// clusterNotSettled uses Rancher's own objects; the conditions of a Cluster are
// copies of theirs, and lag.
func (j *evaluation) clusterNotSettled(found *transform.Findings) {
	const fix = "wait; if it does not settle, Rancher's UI shows the machine that is stuck"
	for _, c := range j.ControlPlanes {
		var open []string
		if !c.Observed {
			open = append(open, "its last change is not observed yet")
		}
		if !c.Applied {
			open = append(open, "the spec differs from the applied spec")
		}
		open = append(open, lists.Map(c.NotTrue, func(name string) string { return "the condition " + name + " is not True" })...)
		if len(open) > 0 {
			found.On(c.Namespace+"/rkecontrolplanes/"+c.Name, "the cluster is not settled: "+strings.Join(open, ", "), fix)
		}
	}
	for _, p := range j.MachinePlans {
		if !p.Applied {
			found.On(p.Namespace+"/secrets/"+p.Name, "the machine does not run its last plan yet", fix)
		}
	}
}
