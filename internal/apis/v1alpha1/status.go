// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LeaderMigrationStatus is what the controller has seen and done.
type LeaderMigrationStatus struct {
	// The generation of the spec that the status is of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The value of the annotation rke-lm.io/retry for which the clusters that had failed, or were
	// skipped, were evaluated again.
	ObservedRetry string `json:"observedRetry,omitempty"`
	// Identifies what cannot be changed of the specification since the clusters were selected.
	SpecDigest string `json:"specDigest,omitempty"`
	// The strictest value that spec.approval has had: a weaker one has no effect.
	Approval string `json:"approval,omitempty"`
	// Complete: all clusters have ended, and no more failed than maxFailures. Failed: more did,
	// or the spec is not valid or not permitted. Waiting: nothing starts now, and why. ManagedElsewhere,
	// NeedsHelm and NeedsValues: clusters that the controller does not migrate, and why.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The number of clusters in each state.
	Counts Counts `json:"counts,omitempty"`
	// The wave that is in progress, or the next one.
	Wave string `json:"wave,omitempty"`
	// The waves, in their order.
	Waves []WaveStatus `json:"waves,omitempty"`
	// The clusters, in the order of the waves.
	Clusters []ClusterStatus `json:"clusters,omitempty"`
}

// RetryAnnotation on a LeaderMigration evaluates the clusters that failed, or are skipped, again whenever it gets
// another value, such as the time.
const RetryAnnotation = "rke-lm.io/retry"

// The types of conditions.
const (
	Complete         = "Complete"
	Failed           = "Failed"
	Waiting          = "Waiting"
	ManagedElsewhere = "ManagedElsewhere"
	NeedsHelm        = "NeedsHelm"
	NeedsValues      = "NeedsValues"
)

// Counts is the number of clusters in each state.
type Counts struct {
	// All clusters.
	Total int `json:"total"`
	// Clusters that have not started, or that wait before a stage.
	Waiting int `json:"waiting"`
	// Clusters in progress, or being rolled back.
	Running int `json:"running"`
	// Clusters whose requested stages are done.
	Done int `json:"done"`
	// Clusters that failed.
	Failed int `json:"failed"`
	// Clusters that the controller does not migrate.
	Skipped int `json:"skipped"`
}

// WaveStatus is how far a wave is.
type WaveStatus struct {
	// The name of the wave.
	Name string `json:"name"`
	// The number of its clusters in each state.
	Counts Counts `json:"counts"`
	// When all of its clusters had ended.
	Ended *metav1.Time `json:"ended,omitempty"`
}

// ClusterStatus is how far a cluster is.
type ClusterStatus struct {
	// NAMESPACE/NAME of the cluster, or the ID of an RKE1 cluster.
	Name string `json:"name"`
	// The ID that Rancher gave the cluster.
	ID string `json:"id,omitempty"`
	// The name of its wave.
	Wave string `json:"wave"`
	// waiting, running, held before a stage, reverting, done, failed, or skipped.
	State string `json:"state"`
	// The stage in progress, or the one before which it waits or at which it stopped, or the last one
	// that is done.
	Stage string `json:"stage,omitempty"`
	// When it came to that state or that stage.
	Since *metav1.Time `json:"since,omitempty"`
	// Why it is skipped: ManagedElsewhere, NeedsHelm or NeedsValues.
	Reason string `json:"reason,omitempty"`
	// What its run waits for, or why it failed or is skipped.
	Message string `json:"message,omitempty"`
	// Seconds in which no manager ran the cloud controllers during switch-to-external. Absent if the
	// controller was killed between the edit of that stage and its end: nothing read the leases, and a
	// lease does not show when its last holder stopped.
	NoOwnerSeconds *float64 `json:"noOwnerSeconds,omitempty"`
	// Seconds in which two managers ran the cloud controllers, in all stages. It must be 0.
	TwoOwnersSeconds float64 `json:"twoOwnersSeconds"`
	// The rules whose errors stopped the run.
	Findings []string `json:"findings,omitempty"`
	// The cluster failed and was rolled back to the state before the first stage.
	RolledBack bool `json:"rolledBack,omitempty"`
}
