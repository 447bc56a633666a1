// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"sync"
)

// Reason is what a user needs to know before a finding of a rule is corrected or accepted.
type Reason struct {
	Rule   string `json:"-"`
	Why    string `json:"why"`    // what happens otherwise
	Source string `json:"source"` // where that can be read
	Repair string `json:"repair"`
	Accept string `json:"accept,omitempty"` // when the rule can be accepted; empty if never
}

// Where facts can be read that several rules rest on.
const (
	planner     = "rancher/rancher pkg/capr/planner/config.go, release/v2.8: one value per key, the last entry that matches wins"
	migration   = "kubernetes/enhancements KEP-2436; kubernetes/kubernetes cmd/kube-controller-manager/app/controllermanager.go, v1.26"
	configTypes = "kubernetes/kubernetes staging/src/k8s.io/controller-manager/config and pkg/leadermigration/config, v1.21 to v1.36"
	nameSource  = "rancher/rke2 pkg/rke2/rke2_linux.go at v1.28.9+rke2r1, v1.29.11+rke2r1 and v1.31.4+rke2r1"
	awsProvider = "kubernetes/cloud-provider-aws pkg/providers/v1 and charts/aws-cloud-controller-manager, v1.26 to v1.37"
	rkeDefaults = "rancher/rke cluster/defaults.go and cluster/plan.go, v1.8"
	removals    = "kubernetes/kubernetes CHANGELOG/CHANGELOG-1.27.md: the in-tree AWS provider and its gates are removed"
)

// reasons is the one list of them, by rule.
var reasons = sync.OnceValue(func() map[string]Reason {
	of := map[string]Reason{}
	for _, r := range slices.Concat(clusterReasons, chartReasons, machineReasons, configurationReasons, engineReasons, manifestReasons, liveReasons, changeReasons) {
		of[r.Rule] = r
	}
	return of
})

// ReasonOf returns the reason of a rule. Every rule of the tool has one.
func ReasonOf(rule string) Reason { return reasons()[rule] }
