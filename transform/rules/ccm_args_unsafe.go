// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/inlinemanifest"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// CCMArgsUnsafe finds arguments that end a cloud-controller-manager.
var CCMArgsUnsafe = ccmArgsUnsafe{transform.Rule{
	ID: "ccm-args-unsafe", Severity: transform.Error, Guards: []string{stages.InstallCCM, stages.SwitchToExternal}, Acceptable: true,
}}

type ccmArgsUnsafe struct{ transform.Rule }

// Routes returns what to say of a manager whose routes are on without a range of
// addresses, which ccm.RoutesUnsafe finds.
func (ccmArgsUnsafe) Routes() (message, fix string) {
	return "routes are on without --cluster-cidr: the manager exits as soon as it acquires the lease",
		"add --configure-cloud-routes=false, or --cluster-cidr where the VPC carries pod routes"
}

// Chart checks the arguments that the values of a chart give; at reports about them.
func (r ccmArgsUnsafe) Chart(c ccm.Chart, at func(message, fix string) transform.Finding) []transform.Finding {
	var found []transform.Finding
	if c.RoutesUnsafe() {
		found = append(found, at(r.Routes()))
	}
	if c.LacksProvider() {
		found = append(found, at("Helm replaces the chart's arguments with this list, and it has no --cloud-provider=aws", "add --cloud-provider=aws"))
	}
	if c.LacksRights() {
		found = append(found, at("the chart does not grant the permission to get serviceaccounts that is required by --use-service-account-credentials", "remove the argument, or grant the permission in clusterRoleRules"))
	}
	return found
}

// Workload checks a cloud-controller-manager that the manifests of a cluster run
// without the chart.
func (r ccmArgsUnsafe) Workload(b inlinemanifest.Bundle) []transform.Finding {
	w, runs := workload(b)
	if !runs {
		return nil
	}
	var found []transform.Finding
	add := func(message, fix string) {
		found = append(found, b.Finding(w.Index, w.Container, message, fix))
	}
	if w.RoutesUnsafe() {
		add(r.Routes())
	}
	if w.WrongProvider() {
		add("--cloud-provider is not aws, as the manager spells it: it exits when it starts", "write --cloud-provider=aws")
	}
	return found
}

// workload returns the cloud-controller-manager that manifests run without the chart.
func workload(b inlinemanifest.Bundle) (ccm.Workload, bool) {
	docs, err := b.Documents()
	if err != nil {
		return ccm.Workload{}, false
	}
	return ccm.FindWorkload(docs)
}
