// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package waves decides which clusters of many are migrated next.
//
// Invariant: what is next follows from the states that are passed, and from nothing
// else: so it can be asked again after a restart. No more clusters run at once than are
// allowed to, no wave starts before every cluster of the waves before it has ended, and
// after too many failures nothing starts. A [Policy] adds the time and approvals, which are
// passed too.
package waves
