// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

// Reason is what a user needs to know before a finding of a rule is corrected or accepted. Every rule
// of the tool has one.
type Reason struct {
	Why    string `json:"why"`    // what happens otherwise
	Source string `json:"source"` // where that can be read
	Repair string `json:"repair"`
	Accept string `json:"accept,omitempty"` // when the rule can be accepted; empty if never
}

// Where facts can be read that several rules rest on.
const (
	SourcePlanner       = "rancher/rancher pkg/capr/planner/config.go, release/v2.8: one value per key, the last entry that matches wins"
	SourceMigration     = "kubernetes/enhancements KEP-2436; kubernetes/kubernetes cmd/kube-controller-manager/app/controllermanager.go, v1.26"
	SourceConfiguration = "kubernetes/kubernetes staging/src/k8s.io/controller-manager/config and pkg/leadermigration/config, v1.21 to v1.36"
	SourceNodeNames     = "rancher/rke2 pkg/rke2/rke2_linux.go at v1.28.9+rke2r1, v1.29.11+rke2r1 and v1.31.4+rke2r1"
	SourceAWS           = "kubernetes/cloud-provider-aws pkg/providers/v1 and charts/aws-cloud-controller-manager, v1.26 to v1.37"
	SourceRKE           = "rancher/rke cluster/defaults.go and cluster/plan.go, v1.8"
	SourceRemovals      = "kubernetes/kubernetes CHANGELOG/CHANGELOG-1.27.md: the in-tree AWS provider and its gates are removed"
)

// Because is the rule with its reason.
func (r Rule) Because(why, source, repair, accept string) Rule {
	r.Reason = Reason{why, source, repair, accept}
	return r
}
