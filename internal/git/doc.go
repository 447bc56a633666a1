// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package git reads commits of a repository, through the git binary.
//
// Invariant: nothing is written, fetched or checked out: not the index, not the working
// tree. What is read of a commit are the bytes that were committed, without the filters
// and programs that a repository or its user configures.
package git
