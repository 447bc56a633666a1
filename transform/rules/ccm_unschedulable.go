// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// CCMUnschedulable finds control planes on which the chart runs no pod.
var CCMUnschedulable = ccmUnschedulable{transform.Rule{
	ID: "ccm-unschedulable", Severity: transform.Error, Guards: []string{stages.InstallCCM, stages.SwitchToExternal}, Acceptable: true,
	Doc: "With the node selector or the tolerations of the chart the cloud-controller-manager cannot be scheduled to the nodes of a class of control planes.",
}}

type ccmUnschedulable struct{ transform.Rule }

// Chart checks the values of a chart against classes of nodes, which have a label; at reports
// about the value at a path.
func (ccmUnschedulable) Chart(c ccm.Chart, nodes []ccm.NodeClass, label string, at func(message, fix string, path ...string) transform.Finding) []transform.Finding {
	for _, class := range nodes {
		if why := c.Refuses(class); why != "" {
			return []transform.Finding{at("no pod of the manager runs on machines of class "+class.Name+": "+why,
				"select "+label+`: "true", and tolerate every taint of control planes with operator: Exists`, c.Blamed(class)...)}
		}
	}
	return nil
}
