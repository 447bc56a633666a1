// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LeaderMigrationApproval permits a wave of a LeaderMigration, or a stage in a wave, to begin.
// RBAC on leadermigrationapprovals decides who approves. An approval is valid only for a
// LeaderMigration that is older.
type LeaderMigrationApproval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is approved. It cannot be changed.
	Spec LeaderMigrationApprovalSpec `json:"spec" wrangler:"required"`
}

// LeaderMigrationApprovalSpec is what is approved.
type LeaderMigrationApprovalSpec struct {
	// The name of the LeaderMigration, in the namespace of the approval.
	Migration string `json:"migration" wrangler:"required,minLength=1"`
	// The name of the wave.
	Wave string `json:"wave" wrangler:"required,minLength=1"`
	// The stage of all clusters in the wave, with approval: stage. Without a stage the start of
	// the wave is approved.
	Stage string `json:"stage,omitempty"`
	// Rules whose errors are accepted for the clusters of the wave that begin from now on, in addition to those in
	// options.accept of the LeaderMigration, which cannot be changed.
	Accept []string `json:"accept,omitempty"`
}
