// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rancher reads and patches the clusters of a Rancher.
//
// Invariant: an object is written with a JSON patch that tests what it changes, on
// the plain Kubernetes route, and by nothing else; when a write is said to have
// succeeded, the server has shown the object with all of the change in it.
package rancher
