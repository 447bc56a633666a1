// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/inlinemanifest"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// CCMFlagMissing finds a second owner of the cloud controllers.
var CCMFlagMissing = ccmFlagMissing{transform.Rule{
	ID: "ccm-flag-missing", Severity: transform.Error, Guards: installCCM, Acceptable: true,
	Doc: "A cloud-controller-manager without leader migration is in the file while the provider is still in-tree: two managers run the cloud controllers. A warning with --no-leader-migration.",
}}

type ccmFlagMissing struct{ transform.Rule }

const twoOwners = "the cloud-controller-manager runs without leader migration while kube-controller-manager is in-tree: two managers own the cloud controllers"

const oldOwners = "the cloud-controller-manager runs without leader migration, and control planes that were not upgraded yet may still run the in-tree cloud controllers"

// Chart checks a chart next to an in-tree kube-controller-manager; at reports about
// its arguments.
func (r ccmFlagMissing) Chart(c ccm.Chart, t transform.Target, at func(message, fix string) transform.Finding) []transform.Finding {
	if c.Migrates() {
		return nil
	}
	return r.chosen(t, at(twoOwners, "add --"+leaderFlag+"=true, as the stage install-ccm does"))
}

// Workload checks a cloud-controller-manager that manifests run without the chart,
// next to an in-tree kube-controller-manager.
func (r ccmFlagMissing) Workload(b inlinemanifest.Bundle, t transform.Target) []transform.Finding {
	w, runs := workload(b)
	if !runs || w.Migrates() {
		return nil
	}
	return r.chosen(t, b.Finding(w.Index, w.Container, twoOwners, "add --"+leaderFlag+"=true to its arguments, or remove it"))
}

// Manifest checks the manager's own manifest next to that of an in-tree
// kube-controller-manager.
func (r ccmFlagMissing) Manifest(at yamledit.Node, t transform.Target) []transform.Finding {
	return r.chosen(t, transform.FindingAt(at, twoOwners, "add --"+leaderFlag+" to its arguments, as the stage install-ccm does"))
}

// chosen makes the finding a warning where two owners were chosen, or where only control
// planes that wait for their upgrade can be one of them.
func (ccmFlagMissing) chosen(t transform.Target, f transform.Finding) []transform.Finding {
	switch {
	case t.Situation == transform.Broken:
		f.Severity, f.Message, f.Fix = transform.Warning, oldOwners, "apply the switch as soon as possible"
		return []transform.Finding{f}
	case !t.Situation.HandsOver():
		return nil
	}
	if t.NoLeaderMigration {
		f.Severity, f.Fix = transform.Warning, "apply the switch in the same change"
	}
	return []transform.Finding{f}
}
