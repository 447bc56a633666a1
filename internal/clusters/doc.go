// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusters finds the clusters of a run, in files, in streams and in a Rancher,
// opens their documents, and writes the files that change.
//
// Invariant: each source is read once, to its end, and its documents are parsed once. They come
// together only where they are in one folder or in one stream; which of them are one cluster is
// decided by their format. Results come in the order of the documents. The files of a cluster are
// checked before the first is written, and each is written as a whole or not at all.
package clusters
