// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package apitest is an API server for tests: it serves the objects that an observation
// reads, in pages of protobuf, and fails as real ones do.
//
// Invariant: it answers as kube-apiserver does, envelope and all; only what a
// Fault returns what goes wrong.
package apitest
