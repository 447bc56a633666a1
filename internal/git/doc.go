// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package git reads commits of a repository, through the git binary.
//
// Invariant: nothing of the repository is written, fetched or checked out: not the index, not the
// working tree. What is read of a commit are the bytes that were committed. git gets a directory
// of ours in the place of the one that has the configuration, hooks and remotes, and reads the first only
// to find out where that is: nothing that a repository or its user configures is started, also by a git
// that ignores the settings which forbid it.
package git
