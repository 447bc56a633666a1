// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
)

// FlagLeftOnKCM finds an external kube-controller-manager that keeps the flag.
var FlagLeftOnKCM = OfComponents{
	transform.Rule{
		ID: "flag-left-on-kcm", Severity: transform.Error, Guards: TheSwitch,
		Doc: "kube-controller-manager is external and keeps enable-leader-migration: it holds the lease and runs nothing, so the cloud-controller-manager never starts its controllers.",
	},
	func(c Component, at transform.Report) {
		if a, set := args.LastPlaced(c.Args, leaderFlag); c.Provider == external && set && a.True() {
			at(a.Node, "kube-controller-manager is external and keeps enable-leader-migration: it wins the migration lease and runs no cloud controller, and the cloud-controller-manager waits forever",
				"remove the flag here")
		}
	},
}
