// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package migrate runs the stages of a migration on a live cluster, forward and backward.
//
// Invariant: every write is made under the lock, said in the audit log before it is
// made, and guarded by tests of what it changes. Nothing that a later run needs is
// kept outside of the cluster: a run may be killed anywhere, and the same command
// continues.
package migrate
