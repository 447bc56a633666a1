// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is that of all types here.
var GroupVersion = schema.GroupVersion{Group: "rke-lm.io", Version: "v1alpha1"}

// The kinds, and their resources.
const (
	MigrationKind     = "LeaderMigration"
	MigrationResource = "leadermigrations"
	ApprovalKind      = "LeaderMigrationApproval"
	ApprovalResource  = "leadermigrationapprovals"
)
