// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rke2 plans the leader migration of an RKE2 cluster that Rancher
// provisions (provisioning.cattle.io/v1 Cluster).
//
// Invariant: what an edit means is decided by the effective configuration of
// every machine class, computed as Rancher's planner computes it (rancher
// pkg/capr/planner), never by where a key is in the file. Every stage is
// checked by recomputing all classes: what was promised changed, nothing else.
package rke2
