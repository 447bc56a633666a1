// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

// GrantMigrationLease is the stage that lets both managers lock the migration lease.
const GrantMigrationLease = "grant-migration-lease"
