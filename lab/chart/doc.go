// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart renders the published chart of the aws-cloud-controller-manager
// with the values that rke-lm writes, and asks of the result what a cluster will
// ask: where the pods land, what arguments they get, and what they may do.
//
// Invariant: nothing is simulated by the code that wrote the values. The chart is
// the published one, Helm merges, the scheduler's own predicates place the pods,
// and the managers' own reader takes their configuration.
package chart
