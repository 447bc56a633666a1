// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

// EnableLeaderMigration is the stage that gives kube-controller-manager the flag.
const EnableLeaderMigration = "enable-leader-migration"
