// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package observe looks at a live cluster, or at a dump of one.
//
// Invariant: an answer that did not arrive whole is no answer. What may pass is
// tried again for as long as the caller has patience, what was refused is said
// at once, and there is no Observation of a part of a cluster. Only what a
// decision needs is kept of what is read.
package observe
