// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package source finds the files that a command line names and reads the YAML
// documents in them.
//
// Invariant: a source is read once, and no more of it than [MaxFile] bytes and one. What is larger,
// and a document above [MaxDocument], is an error with its place, never skipped.
//
// What a document means, and whether a file without a cluster is an error, is
// the caller's to say.
package source
