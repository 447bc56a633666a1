// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

// DisableLeaderMigration is the stage that takes the cloud-controller-manager out of the
// migration.
const DisableLeaderMigration = "disable-leader-migration"
