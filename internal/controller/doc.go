// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller migrates the clusters that LeaderMigrations select.
//
// Invariant: a process changes nothing unless it leads. Each cluster has a run of its own,
// the same as that of one cluster; what starts, and when, is decided by package transition. Only
// the status of a LeaderMigration remembers anything, so another process continues from it.
package controller
