// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ProviderMixed is for a cluster that is half switched: some components or machines are in-tree,
// and others external. From 1.27 on the in-tree ones do not start, which is InTreeGone.
var ProviderMixed = transform.Rule{
	ID: "provider-mixed", Severity: transform.Warning, Guards: []string{stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.InstallCCM}, Acceptable: true,
	Doc: "Components or machines of one cluster have different cloud providers: some are aws, others external. The finding lists which.",
}

// Provided is a component of some machines with its provider.
type Provided struct {
	What, Provider string
	At             yamledit.Node
}

// Mixed compares what the components of a cluster have.
func Mixed(list []Provided, version string, found *transform.Findings) {
	of, at := map[string][]string{}, yamledit.Node{}
	for _, p := range list {
		if of[p.Provider] = append(of[p.Provider], p.What); p.Provider == external && !at.Exists() {
			at = p.At
		}
	}
	if len(of[inTree]) == 0 || len(of[external]) == 0 || k8s.From(version, k8s.FirstWithout) {
		return
	}
	found.At(at, "the cluster is half switched; "+inTree+": "+strings.Join(of[inTree], ", ")+"; "+external+": "+strings.Join(of[external], ", "),
		"set "+inTree+" for all of them; "+stages.SwitchToExternal+" makes all of them external in one edit")
}
