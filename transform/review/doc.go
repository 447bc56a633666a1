// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package review evaluates a change of clusters, such as a pull request: which stages
// it performs, what else it changes of machines, and what is wrong with that.
//
// Invariant: a change is compared with what its stages make of the documents before it.
// What is left is an edit that is no stage, wherever and however it is written. The
// operator's choices, acceptances included, are those of the base: a change cannot
// accept its own errors.
package review
