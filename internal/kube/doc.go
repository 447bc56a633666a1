// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package kube sends requests to the API server of a cluster, directly or through a
// Rancher: client-go's transport below RoundTrippers of one idea each, and its pager.
//
// Invariant: an answer that did not arrive whole is no answer. What may pass is
// tried again until the time that the user allows ends; a refusal is returned at
// once. Nothing that a server answers is shown but its own message, redacted.
package kube
