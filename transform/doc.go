// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package transform is the contract: what every format has in common, stages, findings and refusals, and the
// documents as kubectl reads them.
//
// Invariant: transform decides and does no I/O. A stage's progress is read off
// the document itself, so there is no state file and every command may be run
// again.
package transform
