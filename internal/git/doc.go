// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package git reads commits of a repository, through the git binary.
//
// Invariant: nothing of the repository is written, fetched or checked out: not the index, not the
// working tree. What is read of a commit are the bytes that were committed. git gets a directory
// of ours in the place of the repository's own and reads no configuration, hook, filter or remote
// of it: nothing that a repository or its user configures is started, by any release of git.
package git
