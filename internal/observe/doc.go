// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package observe looks at a live cluster, or at a dump of one.
//
// Invariant: there is no Observation of a part of a cluster. Only what a decision
// needs is kept of what is read.
package observe
