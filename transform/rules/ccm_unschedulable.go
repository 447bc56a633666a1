// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
)

// CCMUnschedulable finds control planes on which the chart runs no pod.
var CCMUnschedulable = OfCharts{
	transform.Rule{
		ID: "ccm-unschedulable", Severity: transform.Error, Guards: ChartRuns, Acceptable: true,
		Doc: "With the node selector or the tolerations of the chart the cloud-controller-manager cannot be scheduled to the nodes of a class of control planes.",
	},
	func(c Chart, found *transform.Findings) {
		for _, class := range c.Nodes() {
			if why := c.Refuses(class); why != "" {
				found.Add(c.At("no pod of the manager runs on machines of class "+class.Name+": "+why,
					"select "+c.Label+`: "true", and tolerate every taint of control planes with operator: Exists`, c.Blamed(class)...))
				return
			}
		}
	},
}
