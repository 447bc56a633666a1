// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/inlinemanifest"
)

// CCMArgsUnsafe finds arguments that end a cloud-controller-manager.
var CCMArgsUnsafe = OfCharts{
	transform.Rule{
		ID: "ccm-args-unsafe", Severity: transform.Error, Guards: ChartRuns, Acceptable: true,
	},
	func(c Chart, found *transform.Findings) {
		if c.RoutesUnsafe() {
			found.Add(c.At(RoutesUnsafe, RoutesFix, chartArgs))
		}
		if c.LacksProvider() {
			found.Add(c.At("Helm replaces the chart's arguments with this list, and it has no --cloud-provider=aws", "add --cloud-provider=aws", chartArgs))
		}
		if c.LacksRights() {
			found.Add(c.At("the chart does not grant the permission to get serviceaccounts that is required by --use-service-account-credentials", "remove the argument, or grant the permission in clusterRoleRules", chartArgs))
		}
	},
}

// What to say of a manager whose routes are on without a range of addresses, which
// ccm.RoutesUnsafe finds.
const (
	RoutesUnsafe = "routes are on without --cluster-cidr: the manager exits as soon as it acquires the lease"
	RoutesFix    = "add --configure-cloud-routes=false, or --cluster-cidr where the VPC carries pod routes"
)

// UnsafeWorkload checks a cloud-controller-manager that the manifests of a cluster run
// without the chart.
func UnsafeWorkload(b inlinemanifest.Bundle, found *transform.Findings) {
	w, runs := workload(b)
	if runs && w.RoutesUnsafe() {
		found.Add(b.Finding(w.Index, w.Container, RoutesUnsafe, RoutesFix))
	}
	if runs && w.WrongProvider() {
		found.Add(b.Finding(w.Index, w.Container, "--cloud-provider is not aws, as the manager spells it: it exits when it starts", "write --cloud-provider=aws"))
	}
}

// workload returns the cloud-controller-manager that manifests run without the chart.
func workload(b inlinemanifest.Bundle) (ccm.Workload, bool) {
	docs, err := b.Documents()
	if err != nil {
		return ccm.Workload{}, false
	}
	return ccm.FindWorkload(docs)
}
