// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package files replaces the content of a file, or a folder of files, as a whole or not at all, and makes folders that
// are removed before the run ends. It removes what runs that were killed have left, and reads up to a bound.
//
// Invariant: at every moment, through every error, panic and power cut, the
// path holds either all of the old bytes or all of the new ones; and what is
// not content – links to the file, mode, owner, access list – stays. Where that
// cannot be had, nothing is written and the error says why.
//
// The file must be the one that was read: see [Unchanged]. Nothing temporary of a process that is alive is
// removed, and nothing of another user.
package files
