// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package kube speaks to the API server of a cluster, or to a Rancher that
// stands before it.
//
// Invariant: an answer that did not arrive whole is no answer. What may pass is
// tried again for as long as the caller has patience; what was refused is said at
// once. What a server answers is never shown, but for its own message, redacted.
package kube
