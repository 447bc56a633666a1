// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// LeaseGrantMissing is for leader migration that is on before its permission is there: a
// kube-controller-manager that runs the cloud controllers itself needs it.
var LeaseGrantMissing = OfComponents{
	transform.Rule{
		ID: "lease-grant-missing", Severity: transform.Warning, Guards: []string{stages.EnableLeaderMigration}, Acceptable: true,
		Doc: "kube-controller-manager has leader migration enabled, and the file grants it no permission on the migration lease: no manager runs the cloud controllers, unless the permission was granted elsewhere. For manifests, lint checks those whose file or folder has permissions.",
	},
	func(c Component, at transform.Report) {
		if a, set := args.LastPlaced(c.Args, leaderFlag); c.Provider == inTree && set && a.True() {
			at(a.Node, "leader migration is enabled, and the file grants kube-controller-manager no permission on the migration lease: without it no manager runs the cloud controllers",
				"apply grant-migration-lease, or check that the cluster has a Role and RoleBinding for the lease")
		}
	},
}
