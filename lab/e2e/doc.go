// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e drives real managers with the files that rke-lm writes.
//
// Invariant: a scenario asserts what was seen from outside – leases, calls to AWS, objects – and never
// what a manager was configured to do.
package e2e
