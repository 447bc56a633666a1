// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/inlinemanifest"
)

// CCMFlagMissing finds a second owner of the cloud controllers: a chart next to an in-tree
// kube-controller-manager.
var CCMFlagMissing = OfCharts{
	transform.Rule{
		ID: "ccm-flag-missing", Severity: transform.Error, Guards: TheChart, Acceptable: true,
		Doc: "A cloud-controller-manager without leader migration is in the file while the provider is still in-tree: two managers run the cloud controllers. A warning with --no-leader-migration.",
	},
	func(c Chart, found *transform.Findings) {
		if !c.Migrates() {
			SecondOwner(c.At("", "add --"+leaderFlag+"=true, as the stage install-ccm does", chartArgs), c.Target, found)
		}
	},
}

// SecondWorkload checks a cloud-controller-manager that manifests run without the chart,
// next to an in-tree kube-controller-manager.
func SecondWorkload(b inlinemanifest.Bundle, t transform.Target, found *transform.Findings) {
	if w, runs := workload(b); runs && !w.Migrates() {
		SecondOwner(b.Finding(w.Index, w.Container, "", "add --"+leaderFlag+"=true to its arguments, or remove it"), t, found)
	}
}

// SecondOwner adds the finding about a place: a warning where two owners were chosen, or where only
// control planes that wait for their upgrade can be one of them.
func SecondOwner(f transform.Finding, t transform.Target, found *transform.Findings) {
	f.Message = "the cloud-controller-manager runs without leader migration while kube-controller-manager is in-tree: two managers own the cloud controllers"
	switch {
	case t.Situation == transform.Broken:
		f.Severity, f.Fix = transform.Warning, "apply the switch as soon as possible"
		f.Message = "the cloud-controller-manager runs without leader migration, and control planes that were not upgraded yet may still run the in-tree cloud controllers"
	case !t.Situation.HasInTreeProvider():
		return
	case t.NoLeaderMigration:
		f.Severity, f.Fix = transform.Warning, "apply the switch in the same change"
	}
	found.Add(f)
}
