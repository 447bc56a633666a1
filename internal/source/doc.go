// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package source finds the files that a command line names and reads the YAML
// documents in them.
//
// Invariant: a source is read once, and whole. One above [MaxFile], a document above [MaxDocument]
// and such an item of a list are errors with their place, never skipped and never cut.
//
// What a document means, and whether a file without a cluster is an error, is
// the caller's to say.
package source
