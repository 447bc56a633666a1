// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package stages holds what a stage of the migration means, in every format.
//
// Invariant: what a stage promises and what has to hold before it, after it and after its
// undo is written once. The commands of a runbook, the waiting of migrate and rollback, and the
// verdict of verify all follow from the same Check.
package stages
