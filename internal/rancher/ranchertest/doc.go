// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ranchertest is a Rancher for tests: its proxy, which checks the token, and
// after it the API server of its own cluster, which really applies JSON patches. What Rancher's
// planner, controllers, webhook and front door make of objects and requests is for the Rancher of the
// lab as well, which keeps its objects on a real API server.
//
// Invariant: an object changes only as a patch says whose tests hold; only what a
// Fault returns what goes wrong.
package ranchertest
