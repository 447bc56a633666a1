// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout reports how far a change of a cluster has come, from what Rancher
// shows of it.
//
// Invariant: a change is done when the configuration that was rendered for every
// machine proves it and every machine has taken it over. Conditions alone prove
// nothing: those of a Cluster are copies and lag.
package rollout
