// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package transform holds what every distro has in common: stages, the plan
// that they make, findings and refusals.
//
// Invariant: transform decides and does no I/O. A stage's progress is read off
// the document itself, so there is no state file and every command may be run
// again. The one list of steps that Build returns is printed, written, applied
// and reversed.
package transform
