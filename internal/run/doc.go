// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package run does the work of the verbs: of each cluster that was found it returns what a verb makes
// of it, as data, with what became of its files.
//
// Invariant: it parses no flags, and prints only notes of what it waits for. What a verb decides is in transform; the results
// come in the order of the clusters, and one cluster that fails ends no other.
package run
