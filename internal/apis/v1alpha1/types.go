// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of the group rke-lm.io: migrations of many clusters,
// and the approvals of their waves and stages.
//
// Invariant: the comment of each field is its description in the CustomResourceDefinition,
// so kubectl explain shows what is written here. No type is one of client-go's: each object
// is decoded by itself, so one that cannot be decoded is alone in its trouble.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of all types here.
var GroupVersion = schema.GroupVersion{Group: "rke-lm.io", Version: "v1alpha1"}

// The kinds, and their resources.
const (
	MigrationKind     = "LeaderMigration"
	MigrationResource = "leadermigrations"
	ApprovalKind      = "LeaderMigrationApproval"
	ApprovalResource  = "leadermigrationapprovals"
)

// LeaderMigration migrates clusters of a Rancher from the in-tree AWS cloud provider to the
// external cloud-controller-manager, in waves. The controller that runs with rke-lm controller
// migrates each cluster as rke-lm migrate does.
type LeaderMigration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which clusters are migrated, in which order, and when. selector, options, until,
	// etcdSnapshot, canaryService and waves cannot be changed: create another LeaderMigration.
	Spec LeaderMigrationSpec `json:"spec" wrangler:"required"`
	// What the controller has seen and done.
	Status LeaderMigrationStatus `json:"status,omitempty"`
}

// LeaderMigrationSpec is what a user chooses.
type LeaderMigrationSpec struct {
	// The clusters, by the labels of their objects in Rancher: clusters.provisioning.cattle.io,
	// and clusters.management.cattle.io for RKE1. They are selected once, when the migration
	// begins. An empty selector selects all clusters.
	Selector metav1.LabelSelector `json:"selector" wrangler:"required"`
	// The choices of the migration, with the names of the flags of rke-lm migrate, as in the
	// file of --config.
	Options map[string]runtime.RawExtension `json:"options,omitempty" wrangler:"type=json"`
	// The last stage to apply. All stages are applied if it is not set.
	Until string `json:"until,omitempty"`
	// Take an etcd snapshot with Rancher before the first write and before the switch.
	EtcdSnapshot bool `json:"etcdSnapshot,omitempty"`
	// At the end, each cluster of the first wave proves that its cloud controllers work: a
	// Service of type LoadBalancer gets an address and is deleted.
	CanaryService bool `json:"canaryService,omitempty"`
	// The time to wait for each condition of a cluster, such as 30m, at most a year. The default is
	// that of rke-lm migrate.
	Timeout *metav1.Duration `json:"timeout,omitempty" wrangler:"type=string"`

	// No stage and no cluster begins while it is true. A stage that has begun is completed.
	Pause bool `json:"pause,omitempty"`
	// The waves, in their order. Clusters of no wave are in a last one with the name rest. All
	// clusters are in one wave if there are none.
	Waves []Wave `json:"waves,omitempty"`
	// Most clusters that are migrated at the same time.
	MaxUnavailable int `json:"maxUnavailable,omitempty" wrangler:"min=1,max=10000,default=1"`
	// Most clusters that can fail before no other one starts. Those in progress finish.
	MaxFailures int `json:"maxFailures,omitempty" wrangler:"min=0,max=10000,default=0"`
	// When stages and clusters can begin. They always can if it is not set.
	Window *Window `json:"window,omitempty"`
	// What requires a LeaderMigrationApproval: none, each wave, or each stage of each wave. It can become
	// stricter, and not weaker; the policy of the controller can require more.
	Approval string `json:"approval,omitempty" wrangler:"type=string,options=none|wave|stage,default=none"`
	// Roll back a cluster that fails to the state before the first stage. Without it a cluster
	// that failed stays where it stopped, with exactly one manager that runs the cloud controllers.
	RollbackOnFailure bool `json:"rollbackOnFailure,omitempty"`
}

// The values of approval, and the one of after that is not its default.
const (
	ApprovalNone  = "none"
	ApprovalWave  = "wave"
	ApprovalStage = "stage"

	AfterManual = "manual"
)

// Wave is a group of clusters. It has one of selector, size and percent, or none of them for
// all clusters that are left.
type Wave struct {
	// The name, by which an approval names the wave.
	Name string `json:"name" wrangler:"required,minLength=1,maxLength=63"`
	// The clusters of this wave, of those that are in no earlier one.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// The number of clusters, in the order of their names.
	Size int `json:"size,omitempty" wrangler:"min=1,max=10000"`
	// The percentage of all clusters, rounded up, in the order of their names.
	Percent int `json:"percent,omitempty" wrangler:"min=1,max=100"`
	// Whether the wave starts by itself, auto, or requires a LeaderMigrationApproval, manual.
	After string `json:"after,omitempty" wrangler:"type=string,options=auto|manual,default=auto"`
	// The time that passes after the last cluster of the wave has ended, before the next
	// wave starts, such as 24h, at most a year.
	Soak *metav1.Duration `json:"soak,omitempty" wrangler:"type=string"`
}

// Window is a time of the day on some days of the week.
type Window struct {
	// The days on which it opens, such as Mon. It opens on all days if there are none.
	Days []string `json:"days,omitempty"`
	// When it opens, such as 22:00.
	From string `json:"from" wrangler:"required"`
	// When it closes, such as 04:00, on the next day if that is not later than from.
	To string `json:"to" wrangler:"required"`
	// The time zone of from and to in the IANA database, such as Europe/Berlin. The default is UTC.
	TimeZone string `json:"timeZone,omitempty" wrangler:"maxLength=64"`
}

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
