// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package election has tests alone: electors of the client-go of Kubernetes 1.26 on a lease in memory.
package election
