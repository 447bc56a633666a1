// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package planfolder writes plans to folders and reads them back: one folder for each
// cluster, with plan.json for programs and the rest for people.
//
// Invariant: a plan folder is complete or not there, through every error and
// power cut, and a folder that is not a plan of the same cluster is never touched.
//
// The documents in a folder are those of the cluster, byte for byte, and
// plan.json and the patches hold what the stages take out of them. All may hold
// secrets, so only the user can read the folder (0700) and the files in it (0600). The diffs
// are redacted.
package planfolder
