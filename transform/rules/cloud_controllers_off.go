// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// CloudControllersOff finds an in-tree kube-controller-manager that does not start its cloud controllers.
// The route controller is left out: it only runs if routes are configured.
var CloudControllersOff = OfComponents{
	transform.Rule{
		ID: "cloud-controllers-off", Severity: transform.Error, Guards: FlagEdits, Acceptable: true,
		Doc: "kube-controller-manager is in-tree, and its argument `controllers` turns off service or cloud-node-lifecycle: with leader migration it holds the lease and does not run them, and no other manager can.",
	},
	func(c Component, at transform.Report) {
		a, set := args.LastPlaced(c.Args, leadermigration.ControllersFlag)
		if !set || c.Provider != inTree {
			return
		}
		var off []string
		for _, name := range []string{"service", "cloud-node-lifecycle"} {
			if !leadermigration.Starts(a.Value, name) {
				off = append(off, name)
			}
		}
		if len(off) > 0 {
			at(a.Node, "kube-controller-manager is in-tree and does not start "+strings.Join(off, " and ")+": no manager does, unless a cloud-controller-manager runs without leader migration",
				"remove the controllers that are turned off from the list; the switch to external stops them")
		}
	},
}
