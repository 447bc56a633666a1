// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

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

// AddToScheme adds the types to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &LeaderMigration{}, &LeaderMigrationList{}, &LeaderMigrationApproval{}, &LeaderMigrationApprovalList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
