// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package source finds the files that a command line names and reads the YAML
// documents in them.
//
// Invariant: a chunk that [Source.Scan] returns is the chunk that
// [yamledit.Split] would cut from the whole stream – same number, line, offset
// and bytes – and no stream, however long, takes more memory than a few
// documents of [MaxDocument] bytes. What is larger is an error, never skipped.
//
// What a document means, and whether a file without a cluster is an error, is
// the caller's to say.
package source
